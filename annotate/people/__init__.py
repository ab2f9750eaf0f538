"""Annotators: invited or joining, named by pseudonyms, at work or away.

Comes in: a list of people, or whoever opens a join link.
Goes out: annotators with links, and who is present.
"""
