"""Coverage of intervals, counted in simulated studies whose truth is known.

Comes in: the functions behind `align`, `agreement` and `leaderboard`.
Goes out: how many of their intervals contain the truth.
"""
