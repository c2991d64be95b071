"""The `hat` command line."""

from pipelines.cli.main import main

__all__ = ["main"]
