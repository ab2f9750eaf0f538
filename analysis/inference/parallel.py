"""Independent pieces of work on all processors; numpy lets threads run at once."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

WorkItem = TypeVar("WorkItem")
Result = TypeVar("Result")

# More threads need more memory at once; two use what a small machine has.
THREADS = min(4, os.cpu_count() or 1)


@cache
def _controller() -> ThreadpoolController:
    # Looking for libraries takes longer than many a piece of work.
    return ThreadpoolController()


@contextmanager
def one_thread_a_product() -> Iterator[None]:
    """Give matrix products one thread each; also a decorator."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def in_threads(
    work: Callable[[WorkItem], Result], items: Iterable[WorkItem]
) -> list[Result]:
    """Do the work of every item; results stand in the order of the items."""
    todo = list(items)
    if THREADS == 1 or len(todo) < 2:
        return [work(item) for item in todo]
    with one_thread_a_product(), ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, todo))
