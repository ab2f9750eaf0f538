"""Pictures and videos of an import, written before the database is touched."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tqdm import tqdm

from evalcore import media
from evalcore.models import MediaFile
from evalcore.video import storing

PreparedFiles = dict[Path, media.Prepared]
Videos = dict[Path, MediaFile]


def prepare(paths: Iterable[Path]) -> PreparedFiles:
    """Write the files of the pictures; the database is not held up by that."""
    listed = list(paths)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda path: media.prepare_picture(media.read(path)), listed)
        bar = tqdm(done, total=len(listed), desc="pictures", disable=None)
        return dict(zip(listed, bar, strict=True))


def prepare_videos(paths: Iterable[Path]) -> Videos:
    """Write the files of the videos, and what people will be shown of them."""
    listed = list(paths)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(storing.prepare_video, listed)
        bar = tqdm(done, total=len(listed), desc="videos", disable=None)
        return dict(zip(listed, bar, strict=True))
