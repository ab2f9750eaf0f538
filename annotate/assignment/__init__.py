"""Who judges what: balanced designs, free slots dealt anew, and which slot is next.

Comes in: units, annotators, redundancy; or an annotator of a study that is under way.
Goes out: planned slots, slots with other annotators; the next slot, leased.
"""
