"""Personal data: where they lie; exported, erased, consent withdrawn.

Comes in: an annotator, or an account; for how long a server keeps such data.
Goes out: files about one person; answers under a pseudonym that is nobody's.
"""
