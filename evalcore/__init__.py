"""Outputs of methods, and automatic metrics of them.

Comes in: data sets, rendered stories, files of scores.
Goes out: benchmarks, stories, outputs, scores.
"""
