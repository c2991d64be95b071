"""The texts of the linter's rules, by what they are about."""
