"""Ratings and choices that people gave elsewhere.

Comes in: tables with one row an answer.
Goes out: submitted slots with their answers, or every problem by line.
"""
