"""Videos: which are accepted, what every frame says, what people see.

Comes in: files.
Goes out: videos by content hash, frames, one encoding for all.
"""
