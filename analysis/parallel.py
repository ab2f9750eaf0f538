"""Independent pieces of work on all processors; numpy lets threads run at once."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")

# More threads need more memory at once; two use what a small machine has.
THREADS = min(4, os.cpu_count() or 1)


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Do the work of every item; results stand in the order of the items.

    Parameters
    ----------
    work
        Must not depend on the other items, so that results are the same with any
        number of threads.
    items
        What to work on.

    Examples
    --------
    >>> in_threads(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    todo = list(items)
    if THREADS == 1 or len(todo) < 2:
        return [work(item) for item in todo]
    # The threads of the matrix products would only wait for these.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, todo))
