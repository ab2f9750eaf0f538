"""Free-text answers.

Input: a text. Output: texts, which are exported and erased but never counted.
"""
