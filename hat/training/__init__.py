"""Training: SFT, on-policy distillation, reinforcement learning, and what they share."""
