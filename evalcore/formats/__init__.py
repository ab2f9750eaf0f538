"""Formats of data sets and results, a folder each: reading and writing side by side.

Comes in: files of other people's programs.
Goes out: stories, renderings and scores that the database does not know yet, and files.
"""
