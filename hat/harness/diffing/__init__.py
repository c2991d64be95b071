"""Comparing two versions of a harness by meaning: what was renamed, reworded, moved, added or removed."""
