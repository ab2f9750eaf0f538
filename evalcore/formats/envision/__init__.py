"""Envision's sequences and the results of its programs.

Comes in: JSON.
Goes out: stories, scores; the same files written back.
"""
