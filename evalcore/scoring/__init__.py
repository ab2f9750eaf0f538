"""Computation of missing scores by workers, in chunks that survive any kill.

Comes in: metrics and a benchmark.

Goes out: values and absences as rows.
"""
