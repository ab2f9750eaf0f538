"""Answers watched as they arrive; checks among the slots; leaving answers out.

Comes in: submitted slots of an annotator.
Goes out: flags, warnings, pauses, exclusions.
"""
