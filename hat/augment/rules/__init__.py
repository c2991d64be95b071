"""Rules in prompts and skills: read from plain Markdown sentences to atoms, and said again in other words."""
