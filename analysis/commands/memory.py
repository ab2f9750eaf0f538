"""Memory that a command has used once is used again."""

import ctypes
import platform

# Numbers of glibc's malloc.h, and what is asked for.
MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
LARGEST_KEPT = 32 * 2**20  # the most that glibc accepts
TRIM_AT = 2**31 - 1


def keep_freed_memory() -> bool:
    """Let the process keep the memory it frees, until it ends; say whether it does.

    The C library returns large arrays to the system at once, and the system clears
    every page of the next one: a tenth of the time of a large alignment. For commands,
    which end; a server would keep its largest report forever. Only glibc has it.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(
        mallopt(MMAP_THRESHOLD, LARGEST_KEPT) and mallopt(TRIM_THRESHOLD, TRIM_AT)
    )
