"""Balanced partial assignment. Pure: ids and a seed in, a plan out, no database."""
