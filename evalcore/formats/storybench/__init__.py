"""StoryBench's tasks and the results of its programs.

Comes in: JSON and tables.
Goes out: stories, scores; the same files written back.
"""
