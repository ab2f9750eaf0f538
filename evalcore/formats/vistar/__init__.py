"""VISTAR's prompts.

Comes in: a text file, or JSON objects.
Goes out: stories; the same files written back.
"""
