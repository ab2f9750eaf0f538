"""`check_blinding`: looks for whatever would tell an annotator a method's name.

Comes in: a study, and answers of its seat as a stranger gets them.
Goes out: leaks and warnings, each with the place where it was found.
"""
