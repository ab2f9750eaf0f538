"""The set-up form, whose fields are paths of a study file.

Comes in: what a manager typed.
Goes out: fields with values and errors, and the study that it would be.
"""
