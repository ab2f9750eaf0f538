"""Which method is best: Bradley-Terry, means, a mixed model, composites.

Comes in: choices, ratings, weights.
Goes out: strengths and ranks with intervals.
"""
