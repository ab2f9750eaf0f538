"""Which of two outputs is better, or neither.

Comes in: left, right or tie, as seen.
Goes out: choices of a or b in the unit's order.
"""
