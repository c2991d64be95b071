"""Kubeflow Pipelines steps: one folder a step, each a few lines around `hat.steps`."""
