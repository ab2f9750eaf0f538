"""Which method is best: Bradley-Terry, means, a mixed model, composites."""
