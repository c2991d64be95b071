"""The full suites, by name: each changes one kind of thing, so that a score says what a model survives."""
