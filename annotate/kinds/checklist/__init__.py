"""Checklists: labels with two boxes per shot, for its text and picture or video.

Input: the ticks of a shot, and the confirmation that it was seen.
Output: ratings of 0 or 1 with the number of their shot.
"""
