"""Write the differences from programs in docs/reference/metrics.md.

python -m tests.fidelity_page
"""

import re
from pathlib import Path

from evalcore.metrics.fidelity import (
    Fidelity,
    fidelity_of,
    papers,
    reason_texts,
)
from evalcore.metrics.registry import declarations

PAGE = Path(__file__).resolve().parents[1] / "docs/reference/metrics.md"
MARKED = re.compile(r"(<!-- of the declarations -->\n)(.*)(<!-- end -->\n)", re.S)
STATES = {
    "same": "nothing",
    "imported": "nothing: imported from the program",
    "unknown": "not compared",
}


def documented() -> str:
    """Return two lists: metrics by their differences, and what the differences are."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name, said in declarations().items():
        found = fidelity_of(name)
        assert found is not None
        if said["family"] in papers():
            alike.setdefault((said["family"], _compared(found)), []).append(name)
    rows = [
        f"- {_names(family, names)}: {compared}"
        for (family, compared), names in alike.items()
    ]
    texts = [f"- {name}: {_sides(text)}" for name, text in reason_texts().items()]
    return "\n".join([*rows, "", "The differences:", "", *texts, ""])


def _compared(found: Fidelity) -> str:
    if found.state == "differs":
        return ", ".join(found.reasons)
    return STATES[found.state] if found.program else "no program is published"


def _sides(text: str) -> str:
    """Return what is here, and in brackets in the program."""
    here, is_known, there = text.removesuffix(")").partition(" (")
    return f"{here} (program: {there})" if is_known else here


def _names(family: str, names: list[str]) -> str:
    """Return metrics in code, or the paper if they are all of its metrics."""
    whole = [name for name, said in declarations().items() if said["family"] == family]
    return family if names == whole else ", ".join(f"`{name}`" for name in names)


def with_table(page: str) -> str:
    """Return the page with the lists of the declarations in place of those it has."""
    return MARKED.sub(lambda found: f"{found[1]}{documented()}{found[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), encoding="utf-8")
