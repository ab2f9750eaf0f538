"""OneIG-Bench: alignment, text, reasoning, style, diversity.

Comes in: pictures of one prompt.
Goes out: values.
"""
