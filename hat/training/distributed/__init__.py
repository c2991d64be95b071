"""Training in several processes: a Kubeflow `TrainJob` over nodes, or `torchrun` in one pod."""
