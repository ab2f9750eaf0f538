"""The variables that Plumbline reads, as `docs/running.md` lists them."""

import re

from tests.serving import ROOT

ENVIRONMENT = frozenset(
    re.findall(r"^\| `([A-Z_]+)`", (ROOT / "docs/running.md").read_text("utf-8"), re.M)
)
