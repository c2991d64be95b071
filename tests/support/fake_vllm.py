"""A program called like `vllm serve --config FILE --host H --port P`, for what a step does around vLLM.

It serves the names of the file through `tests.support.fake_engine`. What vLLM itself does is tested on the real one
(tests/integration/engines).
"""

import argparse
import asyncio
import sys
from pathlib import Path

import yaml

from tests.support.fake_engine import fake_engine

REPOSITORY = Path(__file__).parents[2]


def write_fake_vllm(folder: Path, *, broken: bool = False) -> Path:
    """An executable file; a broken one says why it cannot start, and ends."""
    path = folder / "vllm"
    run = f'exec env PYTHONPATH="{REPOSITORY}" "{sys.executable}" -m tests.support.fake_vllm "$@"'
    end = 'echo "INFO: starting"; echo "ValueError: no such device" >&2; exit 1'
    path.write_text(f"#!/bin/sh\n{end if broken else run}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["serve"])
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    settings = yaml.safe_load(arguments.config.read_text(encoding="utf-8"))
    assert Path(settings["model"], "config.json").is_file(), "started in the exported folder"
    async with fake_engine(*settings["served-model-name"], port=arguments.port):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
