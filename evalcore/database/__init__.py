"""Cached SQL compilation; serialised writes to SQLite.

Comes in: queries and rows of the rooms above.
Goes out: the same rows, sooner. Settings for PostgreSQL are here, too.
"""
