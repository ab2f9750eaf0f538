"""What annotators write in words of their own, about whatever is shown.

Comes in: a text.
Goes out: texts, which are exported and erased, and counted nowhere.
"""
