"""Networks: one module each, their weights listed in `published`.

Comes in: pictures in batches.
Goes out: features.
"""
