"""What follows from a submitted slot; answers that come after the lease.

Comes in: a slot with its answers.
Goes out: the next state of slot and annotator; surplus slots.
"""
