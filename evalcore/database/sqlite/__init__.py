"""SQLite whose writers wait in line.

Comes in: what Django asks of a database.
Goes out: the same, without the pauses in which nobody writes.
"""
