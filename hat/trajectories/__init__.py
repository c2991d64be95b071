"""Canonical trajectories: record, presentation, generation, validation."""
