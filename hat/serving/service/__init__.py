"""The agent service: answers viewers' questions over HTTP with the pair in production."""
