"""Twins: pairs of harness states that differ in one rule and ask for different answers to the same question."""
