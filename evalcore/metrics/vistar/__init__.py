"""VISTAR: six physical and semantic angles, and HWPQ.

Comes in: pictures of one prompt.
Goes out: values.
"""
