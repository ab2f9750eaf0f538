"""The set-up form, whose fields are paths of a study file.

Comes in: the values that a manager entered.
Goes out: fields with values and errors, and the study that they describe.
"""
