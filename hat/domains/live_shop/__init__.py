"""The simulated live-commerce room: a synthetic catalogue, its tools, tasks with checkable gold, and scorers."""
