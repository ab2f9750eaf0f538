"""Bootstrap, exact tests and adjustment that every family of statistics uses.

Comes in: draws, counts and p-values.
Goes out: intervals and adjusted p-values.
"""
