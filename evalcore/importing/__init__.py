"""Stories, outputs and scores stored, or every problem told and nothing stored.

Comes in: what a format read.
Goes out: rows of the database, and media by content hash.
"""
