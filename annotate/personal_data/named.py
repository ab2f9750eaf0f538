"""Names found in what managers wrote, also where words have no spaces between them."""

import re
from collections.abc import Iterable

# Chinese, Japanese and Korean: a name stands right beside other words.
UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
LETTER = rf"[^\W{UNSPACED}]"
# Shorter ones are no names, but words of a reason.
SHORTEST, SHORTEST_UNSPACED = 3, 2


def is_telling(name: str) -> bool:
    """Say whether a name is long enough not to be a usual word."""
    unspaced = re.search(f"[{UNSPACED}]", name)
    return len(name) >= (SHORTEST_UNSPACED if unspaced else SHORTEST)


def replaced(text: str, names: Iterable[str], by: str) -> str:
    """Return a text with `by` in the place of each name, the longest first."""
    longest = sorted(filter(None, names), key=len, reverse=True)
    either = "|".join(map(re.escape, longest))
    if not either:
        return text
    pattern = rf"(?<!{LETTER})(?:{either})(?!{LETTER})"
    return re.sub(pattern, lambda _found: by, text, flags=re.IGNORECASE)
