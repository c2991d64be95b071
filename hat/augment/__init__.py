"""Harness-State Augmentation: transforms, codec, sampling and verification."""
