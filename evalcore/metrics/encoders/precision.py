"""Number format of networks, known without loading any of their libraries.

A machine that plans which scores are missing has to know it, and may never compute one.
"""

import os

from evalcore.metrics.base import FatalError

PRECISIONS = ("fp32", "bf16")


class DeviceError(FatalError):
    """Networks cannot run with these settings; the message says why."""


def precision() -> str:
    """Return the number format of networks that may be rounded."""
    name = os.environ.get("EVALCORE_PRECISION", "").strip()
    if name and name not in PRECISIONS:
        raise DeviceError(f"EVALCORE_PRECISION={name!r}: write fp32 or bf16")
    return name or "fp32"
