"""Pages of managers: set-up, people, progress, changes, filters, log."""
