"""Who may see or change what, and who has to wait after wrong guesses.

Comes in: a request's user, or its address.
Goes out: a study or a benchmark; refusals.
"""
