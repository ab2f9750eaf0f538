"""A process that keeps what it frees does not ask the system again."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
from analysis.commands.memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones((8, 2**17))
        [np.ones(2**17) for _ in range(8)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

returned = faults()
kept = keep_freed_memory()
faults()
print(kept, returned, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_freed_memory_is_used_again():
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True
    )
    kept, returned, again = done.stdout.split()
    assert kept == "True"
    assert int(again) < int(returned) / 10
