"""Checks of input tables before an analysis."""
