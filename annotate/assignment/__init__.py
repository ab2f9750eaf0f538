"""Who judges what: balanced designs, and free slots given out anew.

Comes in: units, annotators, redundancy; or the free slots of a study that is under way.
Goes out: planned slots; slots with other annotators.
"""
