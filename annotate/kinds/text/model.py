"""The table of free texts."""

from django.db import models

from annotate.models.answers import Answer, answer_constraints


class TextAnswer(Answer):
    """What somebody wrote in answer to a question; empty once it is erased."""

    value = models.TextField()

    class Meta:
        constraints = answer_constraints("text_answer")
