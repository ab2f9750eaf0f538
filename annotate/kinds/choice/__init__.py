"""Choices between two outputs.

Input: left, right or tie, as displayed.
Output: choices of a or b in the unit's order.
"""
