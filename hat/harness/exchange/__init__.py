"""Harnesses in and out: tools/list results and plugin folders become versions, and versions become them again."""
