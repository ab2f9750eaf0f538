"""People among themselves: alpha, kappa and AC, ICC, each annotator.

Comes in: answers by unit and annotator.
Goes out: coefficients with intervals, and the human ceiling.
"""
