"""Bootstrap, exact tests and adjustment that every family of statistics uses."""
