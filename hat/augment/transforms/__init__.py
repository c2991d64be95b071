"""Task-preserving transforms of a harness, one family a class."""
