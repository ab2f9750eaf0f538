"""Cached SQL compilation; serialised writes to SQLite.

Comes in: queries and rows of the rooms above.
Goes out: the same rows, sooner. Also settings for PostgreSQL.
"""
