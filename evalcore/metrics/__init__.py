"""Automatic metrics. Pure: pictures in, numbers out, no database.

Comes in: outputs as pictures, frames and texts.

Goes out: values, or reasons why a value is undefined.
"""
