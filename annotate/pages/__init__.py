"""Views by audience: authorise, parse, call one function, render.

Comes in: requests.
Goes out: pages.
"""
