"""ViStoryBench: CIDS, CSD, OCCM, prompt alignment, copy-paste, aesthetics.

Comes in: stories as pictures with their characters' references.
Goes out: values.
"""
