"""SQL that is built once a process; SQLite whose writers wait in line.

Comes in: queries and rows of the rooms above.
Goes out: the same rows, sooner. What PostgreSQL wants of its own is here, too.
"""
