"""``python -m pipelines.cli``: the same as `hat`."""

from pipelines.cli.main import main

if __name__ == "__main__":
    main()
