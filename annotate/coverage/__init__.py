"""Progress of a study: counts, expected finish and alerts."""
