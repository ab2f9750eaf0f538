"""Formats of data sets and results, one folder or module each, for reading and writing.

Comes in: files of other people's programs.

Goes out: stories, renderings and scores that are not yet in the database, and files.
"""
