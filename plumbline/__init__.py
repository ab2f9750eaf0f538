"""Client of a Plumbline server, for scripts."""

from importlib import import_module


def __getattr__(name: str) -> object:
    """Load the client when it is used."""
    if name != "Client":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("plumbline.client").Client
