"""The processes of one machine: environment, supervisor, workers, health, log.

Comes in: environment variables.
Goes out: a web server and workers that live, or one sentence why not.
"""
