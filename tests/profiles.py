"""Colour profiles written byte by byte (ICC.1:2001), whose colours a table gives."""

import struct
from itertools import product

# sRGB's red, green and blue as XYZ under D50 (IEC 61966-2-1, Bradford-adapted).
SRGB_PRIMARIES = (
    (0.4360, 0.2225, 0.0139),
    (0.3851, 0.7169, 0.0971),
    (0.1431, 0.0606, 0.7141),
)
D50 = (0.9642, 1.0, 0.8249)


def rgb_profile(gamma: float) -> bytes:
    """A profile of sRGB's primaries with another curve."""
    tags = {}
    for letter, primary in zip("rgb", SRGB_PRIMARIES, strict=True):
        tags[f"{letter}XYZ"] = _xyz(primary)
        tags[f"{letter}TRC"] = _curve(gamma)
    return _profile("mntr", "RGB ", "XYZ ", tags)


def grey_profile(gamma: float) -> bytes:
    return _profile("mntr", "GRAY", "XYZ ", {"kTRC": _curve(gamma)})


def cmyk_profile() -> bytes:
    """A profile of a press with white paper, black, and other inks all of L* = 50."""
    ramp = bytes(range(256))
    grid = b"".join(
        bytes((0 if black else 128 if any(inks) else 255, 128, 128))
        for *inks, black in product((0, 1), repeat=4)
    )
    unit = b"".join(_fixed(value) for value in (1, 0, 0, 0, 1, 0, 0, 0, 1))
    head = b"mft1\0\0\0\0" + bytes((4, 3, 2, 0)) + unit
    return _profile("prtr", "CMYK", "Lab ", {"A2B0": head + ramp * 4 + grid + ramp * 3})


def _profile(device: str, space: str, connection: str, tags: dict[str, bytes]) -> bytes:
    name = b"a test"
    described = b"desc\0\0\0\0" + struct.pack(">I", len(name) + 1) + name + bytes(79)
    tags = {
        "desc": described,
        "wtpt": _xyz(D50),
        "cprt": b"text\0\0\0\0none\0",
        **tags,
    }
    start = 128 + 4 + 12 * len(tags)
    table, body = b"", b""
    for key, data in tags.items():
        table += key.encode() + struct.pack(">II", start + len(body), len(data))
        body += data + bytes(-len(data) % 4)
    words = "".join((device, space, connection)).encode()
    head = struct.pack(">I", start + len(body)) + bytes(4) + b"\2\x10\0\0" + words
    head += bytes(12) + b"acsp" + bytes(28) + b"".join(map(_fixed, D50))
    return head.ljust(128, b"\0") + struct.pack(">I", len(tags)) + table + body


def _fixed(value: float) -> bytes:
    return struct.pack(">i", round(value * 65536))


def _xyz(values: tuple[float, float, float]) -> bytes:
    return b"XYZ \0\0\0\0" + b"".join(map(_fixed, values))


def _curve(gamma: float) -> bytes:
    return b"curv\0\0\0\0" + struct.pack(">IH", 1, round(gamma * 256))
