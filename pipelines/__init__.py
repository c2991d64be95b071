"""Pipeline graphs, profiles, submission and the `hat` command line."""
