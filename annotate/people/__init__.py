"""Annotators: invited or joining, named by pseudonyms, at work or away."""
