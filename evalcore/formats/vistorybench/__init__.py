"""ViStoryBench's data set and its result folders.

Comes in: folders.
Goes out: stories, scores; result folders written back.
"""
