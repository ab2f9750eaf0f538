"""Studies with their annotators, answers, coverage and reports.

Comes in: benchmarks and outputs of `evalcore`, and what a browser or a script sends.
Goes out: pages, the API, and the tables of ratings and choices.
"""
