"""OneIG-Bench's prompts, folders of pictures, and results of its programs.

Comes in: files.
Goes out: stories, pictures by prompt, scores.
"""
