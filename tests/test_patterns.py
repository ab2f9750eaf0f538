"""No pattern takes long over any text: each one of the sources, over hostile texts.

What takes time with the square of the length is found as well as what takes more.
"""

import ast
import re
import signal
import time
from collections import defaultdict
from pathlib import Path

import pytest

from evalcore.serving import log

ROOT = Path(__file__).resolve().parents[1]
SOURCES = [
    path
    for folder in ("analysis", "annotate", "evalcore", "fixtures")
    for path in (ROOT / folder).rglob("*.py")
]
USES = ("match", "fullmatch", "search", "sub", "split", "findall", "finditer")
# Of the processor; what grows with the length alone takes a thousandth.
LENGTH, MOST_SECONDS = 6_000, 0.15
PARTS = (
    *"a0 _-.,'\"/=:\n\\([<{",
    "A",
    "é",
    "%25",
    "%2F",
    "a1",
    "0.",
    "a ",
    " \n",
    "Aa",
    "x=",
    "()",
    "[a](",
    "森",
    "/rate/",
    "rate%2F",
    "token=",
    "Token ",
    "1-a",
    "~0",
)
AROUND = (
    ("", ""),
    ("", "!"),
    ("x", "\0"),
    ("/rate/", "\n"),
    ("[", ""),
    ("<script>", ""),
)


def literals() -> dict[tuple[str, int], set[str]]:
    """Return every pattern that is written out, its flags, and how it is used."""
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    named: list[tuple[str, tuple[str, int]]] = []
    texts = {path: path.read_text("utf-8") for path in SOURCES}
    for text in texts.values():
        for node in ast.walk(ast.parse(text)):
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            call = node.value if isinstance(node, ast.Assign) else node
            if not isinstance(call, ast.Call) or not is_of_re(call.func):
                continue
            if not call.args or not isinstance(call.args[0], ast.Constant):
                continue
            pattern, use = call.args[0].value, call.func.attr
            flags = flags_of(call)
            if use in USES and isinstance(pattern, str):
                found[pattern, flags].add(use)
            elif isinstance(target, ast.Name) and isinstance(pattern, str):
                named.append((target.id, (pattern, flags)))
    for name, key in named:
        for text in texts.values():
            found[key] |= set(re.findall(rf"\b{name}\.({'|'.join(USES)})\(", text))
        found[key] = found[key] or {"match"}
    return found


def is_of_re(function: ast.AST) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
    )


def flags_of(call: ast.Call) -> int:
    given = [*call.args[1:], *(k.value for k in call.keywords if k.arg == "flags")]
    flags = 0
    for node in given:
        for part in ast.walk(node):
            flag = is_of_re(part) and getattr(re, part.attr)
            flags |= int(flag) if isinstance(flag, re.RegexFlag) else 0
    return flags


def slowest(pattern: re.Pattern[str], use: str) -> tuple[float, str]:
    """Return how long a pattern takes at most, and over which text."""
    worst = (0.0, "")
    for part in PARTS:
        for before, after in AROUND:
            text = before + part * (LENGTH // len(part)) + after
            begun = time.process_time()
            if use == "sub":
                pattern.sub("", text)
            elif use == "finditer":
                list(pattern.finditer(text))
            else:
                getattr(pattern, use)(text)
            took = time.process_time() - begun
            worst = max(worst, (took, f"{before}{part}...{after}"))
            if took > MOST_SECONDS:
                return worst
    return worst


@pytest.fixture
def patience():
    """Let a pattern that never ends fail the test."""

    def give_up(*_signal):
        raise TimeoutError("a pattern takes longer than a minute")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
def test_no_pattern_of_the_sources_takes_long(patience):
    known = literals()
    assert len(known) > 50
    slow = {
        pattern: found
        for (pattern, flags), uses in known.items()
        for use in sorted(uses)
        if (found := slowest(re.compile(pattern, flags), use))[0] > MOST_SECONDS
    }
    assert slow == {}


@pytest.mark.parametrize("pattern", log.SECRETS, ids=range(len(log.SECRETS)))
def test_no_line_of_a_log_takes_long_to_redact(patience, pattern):
    """Attack: addresses that keep the server busy with its log."""
    assert slowest(pattern, "sub")[0] < MOST_SECONDS


def test_slow_pattern_would_be_found(patience):
    assert slowest(re.compile(r"(\s)+$"), "search")[0] > MOST_SECONDS
