"""The signing key of a server that was given none: a random one, kept in a file."""

import errno
import os
import secrets
import tempfile
import time
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

SHORTEST_KEY = 32
OTHERS = 0o077
# What a file system says that has no hard links: exFAT, some of CIFS and FUSE.
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
# So long a file may lack the key that is being written into it.
WAIT_SECONDS, LOOK_AGAIN_SECONDS = 1.0, 0.05
INSTEAD = "or set SECRET_KEY to a long random text"


def kept_key(path: Path) -> str:
    """Return the key that a file keeps; the first process to ask makes one.

    Raises
    ------
    ImproperlyConfigured
        The file cannot be made or read, others may read it, or it holds no key.
    """
    if not path.exists():
        _make(path)
    return _read(path)


def _make(path: Path) -> None:
    """Put a new key in place, unless somebody was faster.

    Several processes start together, and one of them only makes a link, or the file.
    """
    key = secrets.token_urlsafe(48) + "\n"
    try:
        try:
            _link(path, key)
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            _write(path, key)
    except FileExistsError:
        return
    except OSError as error:
        raise ImproperlyConfigured(
            f"The signing key cannot be kept in {path} ({error.strerror}); let this "
            f"user write there, {INSTEAD}."
        ) from error


def _link(path: Path, key: str) -> None:
    """Make the file complete and all at once."""
    number, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)  # mode 0600
    draft = Path(name)
    try:
        _fill(number, key)
        path.hardlink_to(draft)
    finally:
        draft.unlink()


def _write(path: Path, key: str) -> None:
    """Make the file where there are no links; whoever reads meanwhile waits."""
    number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    is_open = os.fstat(number).st_mode & OTHERS
    try:
        _fill(number, key)
    except OSError:
        path.unlink()
        raise
    if is_open:
        path.unlink()
        raise ImproperlyConfigured(
            f"Others may read every file in {path.parent}: mount it with umask=077, "
            f"{INSTEAD}."
        )


def _fill(number: int, key: str) -> None:
    with os.fdopen(number, "w", encoding="ascii") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> str:
    until = time.monotonic() + WAIT_SECONDS
    key, mode = _look(path)
    while len(key) < SHORTEST_KEY and time.monotonic() < until:
        time.sleep(LOOK_AGAIN_SECONDS)
        key, mode = _look(path)
    if mode & OTHERS:
        what = f"Others may read the signing key in {path}"
    elif len(key) < SHORTEST_KEY:
        what = f"{path} holds no signing key of at least {SHORTEST_KEY} letters"
    else:
        return key
    raise ImproperlyConfigured(
        f"{what}: delete the file, so that a new one is made (everybody logs in anew), "
        f"{INSTEAD}."
    )


def _look(path: Path) -> tuple[str, int]:
    try:
        with path.open(encoding="ascii") as file:
            mode = os.fstat(file.fileno()).st_mode
            return file.read().strip(), mode
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(
            f"The signing key in {path} cannot be read ({error}); run as the user "
            f"whose file it is, {INSTEAD}."
        ) from error
