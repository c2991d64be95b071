"""The pipeline's steps as plain functions over paths: what a Kubeflow component calls."""
