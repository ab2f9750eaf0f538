"""Pictures and videos of an import, written before the database is touched."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

from evalcore import media

Written = TypeVar("Written")
PreparedFiles = dict[Path, media.Prepared]


def written(
    paths: Iterable[Path], write: Callable[[Path], Written], what: str
) -> dict[Path, Written]:
    """Write files side by side; `what` they are is shown while that takes."""
    listed = list(paths)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bar = tqdm(pool.map(write, listed), total=len(listed), desc=what, disable=None)
        return dict(zip(listed, bar, strict=True))
