"""A value on a scale, for one output.

Comes in: whole numbers.
Goes out: ratings.
"""
