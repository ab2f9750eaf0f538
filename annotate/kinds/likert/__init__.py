"""Ratings of one output on a scale.

Input: whole numbers. Output: ratings.
"""
