"""The analyses behind `plumbline` and the functions of `analysis`.

Comes in: tables and options.
Goes out: every table of a result.
"""
