"""Kinds of questions, a folder each: how one is asked, stored, checked and exported.

Comes in: a question, and what somebody answered; nobody else looks at its kind.
Goes out: fields of the answer's row, words for pages, and what a study file may say.
"""
