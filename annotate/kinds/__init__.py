"""Kinds of questions: asking, storing, checking and exporting, one folder per kind.

Input: a question and an answer. Output: fields of the answer's row, texts for pages,
and the part of a study file that depends on the kind. Other code does not depend on it.
"""
