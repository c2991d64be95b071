"""The image families that steps run in.

These are names, not references: the pipeline sets every step's image from a parameter whose value is pinned
by digest (pipelines/graph.py). They hold the word `python`, as kfp's subprocess runner expects.
"""

CPU = "hat-python-cpu"
"""Control plane, data and gate; no torch."""

TRAIN = "hat-python-train"
"""Everything that runs a model."""
