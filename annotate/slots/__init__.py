"""Slots under lock: who may fill one, until when, how long it took; skips, rests.

Comes in: an annotator and a slot.
Goes out: leased, renewed, freed, withdrawn and skipped slots; refusals.
"""
