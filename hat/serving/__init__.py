"""Serving: the exported model, and how long it takes to answer."""
