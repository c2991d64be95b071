"""`hat watch`: compares the registry at a Git revision with the runs already submitted, and submits what is missing."""
