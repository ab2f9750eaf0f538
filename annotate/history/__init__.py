"""The log of a study: read, replayed, verified; the study as of an event.

Comes in: events.
Goes out: lines as people read them, the slots as they stood, broken promises.
"""
