"""The Django side of `analysis`: the database as tables, reports in the background.

Comes in: a study, an analysis view, an event of the log.
Goes out: the tables of answers and of scores, and report folders.
"""
