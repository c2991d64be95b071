"""The domain of imported harnesses: their own tools, simulated from what their schemas declare."""
