"""Why what somebody sent cannot be taken, or not now."""


class AnswerError(ValueError):
    """The answer cannot be stored; the message says why, for the annotator."""


class NotNowError(AnswerError):
    """The answer may be stored at another time."""


class NotYetError(AnswerError):
    """Something is to be done before this story; the message says what."""


class BadAnswerError(AnswerError):
    """The question has no such answer."""


class SlotTakenError(Exception):
    """Somebody else holds the slot, or it is closed."""
