"""Import of ratings, choices and rankings that were collected elsewhere.

Comes in: tables with one row for each answer.
Goes out: submitted slots with their answers, or all problems with their lines.
"""
