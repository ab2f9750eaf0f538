"""Scores that are missing, computed by workers in chunks, after any kill.

Comes in: metrics and a benchmark.
Goes out: values and absences as rows.
"""
