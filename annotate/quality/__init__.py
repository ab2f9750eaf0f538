"""Answers watched as they arrive; what follows from a submitted slot; exclusions."""
