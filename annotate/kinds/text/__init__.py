"""Free text: answers in words.

Comes in: a text.
Goes out: texts, which are exported and erased, and counted nowhere.
"""
