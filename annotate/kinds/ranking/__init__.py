"""Rankings of three to five outputs of one story.

Input: the positions on the screen, best first, such as `2>1>3`.
Output: rankings, stored as letters of the unit's outputs; tables have a row per output.
"""
