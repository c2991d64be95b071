"""Scores of a model under a harness: suites, results by item, statistics."""
