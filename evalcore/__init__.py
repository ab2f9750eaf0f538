"""What is judged, and what machines say of it.

Comes in: data sets, rendered stories, files of scores.
Goes out: benchmarks, stories, outputs, scores.
"""
