"""Correlation of metrics with people at three levels, with intervals and tests.

Comes in: matrices of people's means and scores by story and method.
Goes out: coefficients (`coefficients.py` has their formulas, ties included),
differences, clusters of metrics.
"""
