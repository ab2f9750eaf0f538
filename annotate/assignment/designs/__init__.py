"""Balanced partial assignment. Pure: ids and a seed in, a plan out, no database.

Comes in: ids of units with story and methods, annotators with quotas, a seed.
Goes out: planned slots in sessions with sides, and how balanced they are.
"""
