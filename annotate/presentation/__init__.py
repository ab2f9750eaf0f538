"""Presentation of a slot: pictures, videos and texts, in one size and without names."""
