"""The library `analysis`, unless another module of this name hides it."""

import sys
from importlib.util import find_spec
from pathlib import Path

OWN = Path(__file__).resolve().parent.with_name("analysis") / "__init__.py"


def _place() -> str:
    """Return the file that `import analysis` takes, without running it."""
    if "analysis" in sys.modules:
        place = getattr(sys.modules["analysis"], "__file__", None)
    else:
        spec = find_spec("analysis")
        place = spec and spec.origin
    return place or "a folder without __init__.py"


if Path(_place()).resolve() != OWN:
    raise ImportError(
        f"{_place()} hides Plumbline's library, whose modules are named analysis, too. "
        "Rename this file or folder, then start Python again.",
        name="analysis",
        path=_place(),
    )

import analysis  # noqa: E402

sys.modules[__name__] = analysis
