"""Envision-Score: nine sub-scores of a judge, three dimensions, one overall.

Comes in: four pictures with prompts.
Goes out: values.
"""
