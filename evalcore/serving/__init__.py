"""The processes of one machine: environment, supervisor, workers, health, log.

Comes in: environment variables.
Goes out: a running web server and workers, or one sentence on the problem.
"""
