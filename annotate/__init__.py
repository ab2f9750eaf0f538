"""Human ratings of outputs: studies, annotators, answers, coverage, reports.

Comes in: benchmarks and outputs of `evalcore`, and what a browser or a script sends.
Goes out: pages, the API, and the tables of ratings and choices.
"""
