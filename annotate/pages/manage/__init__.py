"""Pages of managers: set up, people, coverage, changes, views, log."""
