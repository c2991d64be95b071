"""A typed, frozen harness: parse, digest, render."""
