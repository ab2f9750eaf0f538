"""Networks, one module each, with weights listed in `published`.

Comes in: pictures in batches.

Goes out: features.
"""
