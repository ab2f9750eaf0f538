"""Degraded twins of outputs: what people, and metrics, must rate lower.

Comes in: outputs.
Goes out: worse copies of them, and which metrics see the difference.
"""
