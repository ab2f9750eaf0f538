"""What an annotator does next: checks, own slots, free slots, adaptive pairs.

Comes in: an annotator.
Goes out: one slot, leased; and which comes probably after it.
"""
