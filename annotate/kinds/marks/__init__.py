"""Marks: pins on the places in pictures where something is wrong.

Input: a line for each pin, or `nothing`. Output: the pins, and for each shot whether it
was marked.
"""
