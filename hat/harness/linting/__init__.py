"""The linter's rules, one concern a module, over a harness that could be read."""
