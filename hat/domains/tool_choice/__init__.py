"""Tool choice: tasks whose whole answer is one right tool call, over tool lists that others published."""
