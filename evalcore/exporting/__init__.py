"""Stories and scores of a benchmark written back in the formats they came in.

Comes in: a benchmark.
Goes out: files; all of them or none.
"""
