"""The report folder: page, figures, claims, LaTeX.

Comes in: the tables of a result.
Goes out: one self-contained HTML page and files beside it.
"""
