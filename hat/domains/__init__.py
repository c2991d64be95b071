"""What an agent works on: tools, tasks with checkable gold, scorers."""
