"""Slots under lock: who may fill one, until when, and how long it took.

Comes in: an annotator and a slot.
Goes out: leased, renewed, freed, withdrawn and skipped slots; refusals.
"""
