"""State of the server: gauges for the page and for Prometheus, and troubles."""
