"""Server health: gauges, and problems with remedies."""
