"""The only writer of answers; which of them an analysis view hides.

Comes in: a held slot, a question, and what was answered.
Goes out: ratings, choices, rankings and looks, each change a new revision.
"""
