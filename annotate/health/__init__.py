"""How the server does: what waits, who works, what is left of the disk, what to do.

Comes in: the tables, signs of life of workers, and folders.
Goes out: what the page of the server shows, and gauges for Prometheus.
"""
