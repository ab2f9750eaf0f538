"""How the server does: its gauges, for the page and for Prometheus, and troubles."""
