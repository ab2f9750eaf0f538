"""Bundles: a study with everything that belongs to it in one file.

Comes in: a study of this server, or a bundle of another one.
Goes out: a bundle, or the same study under ids of this server.
"""
