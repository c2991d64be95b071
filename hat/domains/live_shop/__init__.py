"""The simulated live-commerce room: synthetic catalogue, tools, tasks with checkable gold, scorers."""
