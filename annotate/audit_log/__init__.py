"""The log of a study: reading, replay and verification."""
