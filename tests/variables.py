"""The variables that Plumbline reads, as `docs/reference/settings.md` lists them."""

import re

from tests.serving import ROOT

ENVIRONMENT = frozenset(
    re.findall(
        r"^- `([A-Z_]+)`",
        (ROOT / "docs/reference/settings.md").read_text("utf-8"),
        re.M,
    )
)
