"""What OneIG says of a prompt: `rendering.extra["oneig"]`, all of it optional.

==============  ======================================================================
`category`      `Portrait`, `General Object`, `Anime & Stylization`, `Text Rendering`,
                `Knowledge & Reasoning` or `Multilingualism`
`questions`     question by number, as an object or as JSON of one (as OneIG's files
                have it): `{"1": "Is there a fox?", "2": "Is the fox red?"}`
`dependencies`  numbers of the questions that each one presupposes, in the same form; 0
                stands for none: `{"1": [0], "2": [1]}`
`style`         a style of OneIG, as in `Chinese ink painting`
`text`          the text that the picture is to contain
`answer`        the true answer in words (Knowledge & Reasoning)
`language`      `en` or `zh`; else as the text has Chinese characters or not
==============  ======================================================================

A story of OneIG is one prompt. The pictures that were made of it are those of its
shots; a shot may have several. A file with a grid of them is cut by `grids`.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

from evalcore.metrics.base import Image, Rendering

Language = Literal["en", "zh"]
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


def told(rendering: Rendering) -> Mapping[str, Any]:
    """Return what OneIG says of an output's prompt; nothing where it says nothing."""
    found = rendering.extra.get("oneig") or {}
    if not isinstance(found, Mapping):
        kind = type(found).__name__
        raise ValueError(f'{rendering.story}: "oneig" is an object, not a {kind}')
    return found


def pictures_of(rendering: Rendering) -> dict[str, Image]:
    """Return every picture of an output, by its shot and, of several, place in it.

    Of a shot that is part of a video it is the first frame.

    >>> from evalcore.metrics.base import RenderedShot as Shot, Source
    >>> one = Image(Source("a", lambda: iter(())))
    >>> shots = Shot(1, (one,)), Shot(2), Shot(3, (one, one))
    >>> list(pictures_of(Rendering("anime_000", "Alder", shots)))
    ['1', '3.1', '3.2']
    """
    pictures = {}
    for shot in rendering.rendered:
        frames = shot.frames[:1] if rendering.is_video else shot.frames
        for place, frame in enumerate(frames, start=1):
            label = f"{shot.number}.{place}" if len(frames) > 1 else str(shot.number)
            pictures[label] = frame
    return pictures


def language_of(told: Mapping[str, Any], text: str) -> Language:
    """Return the language of a prompt.

    >>> language_of({}, "Open"), language_of({}, "开放")
    ('en', 'zh')
    """
    language = told.get("language") or ("zh" if HAN.search(text) else "en")
    if language == "en":
        return "en"
    if language == "zh":
        return "zh"
    raise ValueError(f"the language is en or zh, not {language!r}")
