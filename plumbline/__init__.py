"""What a script imports of Plumbline: `analysis`, and the client of a server."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import analysis

__all__ = ["Client", "analysis"]

_PLACES = {"Client": "client", "analysis": "analysis"}


def __getattr__(name: str) -> object:
    """Load what is used, so that neither waits for the other."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"plumbline.{_PLACES[name]}")
    return getattr(module, name) if name == "Client" else module
