"""The signing key of a server that was given none: a random one, kept in a file."""

import os
import secrets
import time
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

SHORTEST_KEY = 32
OTHERS = 0o077
# So long a file may lack the key that another process is writing into it.
WAIT_SECONDS, LOOK_AGAIN_SECONDS = 1.0, 0.05
INSTEAD = "or set SECRET_KEY to a long random text"


def kept_key(path: Path) -> str:
    """Return the key that a file keeps; the first process to ask makes one."""
    try:
        if not path.exists():
            _make(path)
        until = time.monotonic() + WAIT_SECONDS
        while len(key := path.read_text("ascii").strip()) < SHORTEST_KEY:
            if time.monotonic() > until:
                break
            time.sleep(LOOK_AGAIN_SECONDS)
        is_open = path.stat().st_mode & OTHERS
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(
            f"The signing key in {path} cannot be kept or read ({error}); let this "
            f"user write there, {INSTEAD}."
        ) from error
    if is_open:
        what = f"Others may read the signing key in {path}"
    elif len(key) < SHORTEST_KEY:
        what = f"{path} holds no signing key of at least {SHORTEST_KEY} letters"
    else:
        return key
    raise ImproperlyConfigured(
        f"{what}: delete the file, so that a new one is made (everybody logs in anew; "
        f"on a disk without permissions mount it with umask=077), {INSTEAD}."
    )


def _make(path: Path) -> None:
    """Write a new key, unless another process is faster."""
    try:
        number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return
    try:
        with os.fdopen(number, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(48) + "\n")
            file.flush()
            os.fsync(number)
    except OSError:
        path.unlink()
        raise
