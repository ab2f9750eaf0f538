"""Personal data: where they lie; exported, erased, consent withdrawn."""
