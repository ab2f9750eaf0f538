"""The log of a study: read, replayed, verified; the study as of an event."""
