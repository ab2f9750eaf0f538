"""What happens to an answer: lock, lease, write, submit, come late, skip.

Comes in: an annotator, a slot, and what was sent of it.
Goes out: answers, each change a new revision; leased, closed, freed and skipped slots.
"""
