"""What answers say of how they were given, and which of it breaks a rule.

Comes in: an annotator's answers as plain values.
Goes out: signals, breaches, and findings as data and as sentences.
"""
