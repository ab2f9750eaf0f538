"""What `import analysis` gives a notebook: the commands as functions, one matrix too.

Comes in: frames or files, options as keywords.
Goes out: reports to look at and to save, coefficients.
"""
