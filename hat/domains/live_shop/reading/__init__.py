"""Reads a free reply: which facts of the simulated live room does it assert, and of which product?"""
