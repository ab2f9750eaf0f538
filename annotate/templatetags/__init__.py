"""What templates may ask about kinds of questions.

Comes in: a study, in a template.
Goes out: its kinds, and what is asked of every shot.
"""
