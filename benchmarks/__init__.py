"""Measurements of what must be fast, and of what must hold in simulated studies.

Each module is a command of its own; `Makefile` runs those of speed.
"""
