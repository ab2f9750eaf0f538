"""Write StoryBench's tasks as `evalcore.formats.storybench.stories` reads them."""

import json

from evalcore.formats.originals import Extras, by_file
from evalcore.formats.written_files import Files


def task_files(stories: Extras) -> Files:
    """Return the task files of which stories were made, with every field."""
    files = by_file(stories, "storybench", "tasks.json")
    return {
        file: json.dumps([one.row() for one in originals])
        for file, originals in files.items()
    }
