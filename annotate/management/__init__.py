"""Commands on studies.

Comes in: arguments.
Goes out: messages, and a non-zero exit status where something is wrong.
"""
