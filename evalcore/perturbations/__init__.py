"""Perturbations: degraded copies of outputs, which people and metrics must rate lower.

Comes in: outputs.

Goes out: degraded copies of them, and how each metric ranks the two.
"""
