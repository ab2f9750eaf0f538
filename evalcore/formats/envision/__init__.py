"""Envision's sequences and the results of its programs.

Comes in: files.
Goes out: stories, scores; results written back.
"""
