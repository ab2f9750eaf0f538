"""Metrics on networks that ship inside a package, named as stand-ins.

Comes in: pictures.
Goes out: values.
"""
