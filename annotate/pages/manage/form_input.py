"""What people type into forms."""


def whole_number(text: str) -> int | None:
    """Return a number that somebody typed; None for nothing, -1 for anything else."""
    text = text.strip()
    if not text:
        return None
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 7 else -1
