"""Quality signals of annotators' answers, and the rules that they break.

In: an annotator's answers as plain values.
Out: signals, breaches, and findings as data and as sentences.
"""
