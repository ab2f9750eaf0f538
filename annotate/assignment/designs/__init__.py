"""Balanced partial assignment, pure: ids and a seed in, a plan out, no database."""
