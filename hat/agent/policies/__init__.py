"""Policies that play episodes with a model."""
