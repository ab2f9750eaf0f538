"""Answers watched as they arrive; what follows from a submitted slot; exclusions.

Comes in: what an annotator sent of a slot.
Goes out: a submitted slot; flags, warnings, pauses, exclusions.
"""
