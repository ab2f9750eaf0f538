"""The functions of `import analysis`: the commands, and a correlation of two matrices.

Comes in: frames or files, options as keywords.
Goes out: reports to look at and to save, coefficients.
"""
