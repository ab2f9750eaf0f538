"""The Django side of `analysis`: the database as tables, reports in the background.

Comes in: a study, an analysis view, an event of the log.
Goes out: the three tables, and report folders.
"""
