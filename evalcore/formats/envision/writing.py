"""Write Envision's sequences as `evalcore.formats.envision.stories` reads them."""

import json

from evalcore.formats.originals import Extras, by_file, ordered
from evalcore.formats.written_files import Files

PROMPT = ("step", "prompt", "explanation")


def sequence_files(stories: Extras) -> Files:
    """Return the lists of sequences of which stories were made."""
    files: Files = {}
    for file, originals in by_file(stories, "envision", "envision.json").items():
        rows = [one.row() for one in originals]
        for row in rows:
            row["prompts"] = [ordered(prompt, PROMPT) for prompt in row["prompts"]]
        files[file] = json.dumps(rows, ensure_ascii=False, indent=2)
    return files
