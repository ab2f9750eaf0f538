"""Import of stories, outputs and scores: all are stored, or every problem is reported.

Comes in: contents of files, as the formats read them.

Goes out: rows of the database, and media by content hash.
"""
