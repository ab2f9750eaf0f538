"""Videos: accepted kinds, decoding, and the rendition that people see.

Comes in: files.

Goes out: videos by content hash, frames, one encoding for all.
"""
