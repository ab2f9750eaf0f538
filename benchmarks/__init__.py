"""Measurements of what must be fast, and of what must hold in simulated studies."""
