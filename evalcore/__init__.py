"""Benchmarks, generated stories and their automatic scores.

Comes in: data sets, rendered stories, files of scores.
Goes out: benchmarks, stories, outputs, scores.
"""
