"""A study as data, as a YAML file, as a plan, and how it changes under way.

Comes in: a study file or a filled form, and a benchmark.
Goes out: a study with units and slots, launched, paused, closed, extended.
"""
