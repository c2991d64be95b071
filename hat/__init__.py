"""Library of Harness-Aware Training: everything that runs without Kubeflow."""
