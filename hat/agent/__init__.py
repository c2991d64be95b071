"""One episode as a state machine without I/O, its hooks, parsing, and the policies that drive it."""
