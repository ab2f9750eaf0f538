"""Metrics without weights, and plain CLIP: what a learned metric should beat.

Comes in: pictures.
Goes out: values.
"""
