"""Identity of a score: everything that decides its value.

Two scores of one metric may be compared or averaged only if their identities are equal.
An identity is made of texts, so that a table can carry it; the full hashes of files
belong to it, but do not count in comparisons.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

from evalcore.metrics.base import Metric
from evalcore.metrics.encoders.precision import precision
from evalcore.metrics.weights import (
    WeightsError,
    weights_of,
)

# Digits of an identity and of a fingerprint of several files.
DIGITS, SHORT = 12, 8
# Most letters of the names that one judge answered under.
LONGEST = 200
# Names of settings that do not come from the judge.
TRUTH, REPEAT, PROMPTS = "true_outputs", "repeat", "prompts"
# A version in one text with its profile, true outputs and the number of a repetition.
LABEL = re.compile(
    r"(?P<version>\S*)(?: (?!against |repeat )(?P<profile>\S+))?"
    r"(?: against (?P<truth>.+?))?(?: repeat (?P<repeat>\d+))?"
)


@dataclass(frozen=True)
class Identity:
    """Everything that decides the values of a metric; empty where it does not apply.

    An empty text may also mean that it is unknown: values that were imported, or
    computed before identities were stored, do not tell their weights.
    """

    metric: str
    metric_version: str = ""  # changes whenever its values would change
    profile: str = ""  # the definition it follows where paper and program differ
    backend: str = ""  # name of the network or judge
    weights: str = ""  # fingerprint of the files with weights, of 8 hexadecimal digits
    precision: str = ""  # number format of its networks, `fp32` or `bf16`
    judge: str = ""  # name under which a judge was asked
    judge_version: str = ""  # name under which it answered; known only afterwards
    # Further settings as `key=value; ...`: those of the judge, a fingerprint of the
    # prompts, the method with the true outputs, the number of a repetition.
    settings: str = ""
    # SHA-256 of each file, by its path.
    weight_files: Mapping[str, str] = field(default_factory=dict, compare=False)
    prompt_files: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def columns(self) -> dict[str, str]:
        """Return its texts by the names of a table's columns, without the metric."""
        texts = {name: getattr(self, name) for name in PARTS}
        return {**texts, "identity": self.key}

    @cached_property
    def key(self) -> str:
        """Return the identity as 12 hexadecimal digits over all texts."""
        return digest([self.metric, *(getattr(self, name) for name in PARTS)], DIGITS)

    @cached_property
    def asked(self) -> str:
        """Return the identity as far as it is known before a judge answers."""
        return replace(self, judge_version="").key

    @property
    def truth(self) -> str:
        """Return the method whose outputs it takes as true; empty if none."""
        return read_settings(self.settings).get(TRUTH, "")

    @property
    def repeat(self) -> str:
        """Return the number of a judge's repetition; empty for its first answers."""
        return read_settings(self.settings).get(REPEAT, "")

    @property
    def label(self) -> str:
        """Return version, profile, true outputs and repetition; see `from_label`."""
        parts = (
            self.metric_version,
            self.profile,
            f"against {self.truth}" if self.truth else "",
            f"repeat {self.repeat}" if self.repeat else "",
        )
        return " ".join(filter(None, parts))


# The columns that an identity covers, beside the metric's name.
PARTS = tuple(one.name for one in fields(Identity) if one.compare)[1:]


def digest(texts: object, digits: int) -> str:
    """Return the first digits of a hash over texts."""
    told = json.dumps(texts, ensure_ascii=False)
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def from_label(metric: str, label: str, backend: str) -> Identity:
    """Return the identity of a score that names only a version and a backend.

    >>> found = from_label("fid", "1 storybench-code against original", "I3D")
    >>> found.metric_version, found.profile, found.truth
    ('1', 'storybench-code', 'original')
    >>> from_label("fid", "96x160", "").metric_version
    '96x160'
    """
    parts = parts_of(label)
    if not parts.get("version", "").isdecimal():
        return Identity(metric, label, backend=backend)
    return Identity(
        metric,
        parts["version"],
        parts.get("profile", ""),
        backend,
        settings=write_settings(_own(parts.get("truth"), parts.get("repeat"))),
    )


def parts_of(label: str) -> dict[str, str]:
    """Return a label's version, profile, truth and repeat, those that it has.

    >>> parts_of("2 vsb-paper against Oak repeat 2")
    {'version': '2', 'profile': 'vsb-paper', 'truth': 'Oak', 'repeat': '2'}
    """
    found = LABEL.fullmatch(label)
    return {k: v for k, v in found.groupdict().items() if v} if found else {}


def _own(truth: str | None, repeat: str | None) -> dict[str, str]:
    """Return the settings that do not come from a judge."""
    return {k: v for k, v in ((TRUTH, truth), (REPEAT, repeat)) if v}


def is_more_than_label(identity: Identity) -> bool:
    """Return whether more is known than a label and a backend tell."""
    return from_label(identity.metric, identity.label, identity.backend) != identity


def write_settings(settings: Mapping[str, str]) -> str:
    """Return settings as one text, in the order of their names.

    >>> write_settings({"seed": "1", "server": "a;b"})
    'seed=1; server=a%3Bb'
    """
    return "; ".join(
        f"{name}={value.replace('%', '%25').replace(';', '%3B')}"
        for name, value in sorted(settings.items())
    )


def read_settings(text: str) -> dict[str, str]:
    """Return the settings that `write_settings` wrote; parts without "=" are left."""
    pairs = (part.partition("=") for part in text.split("; "))
    return {
        name: value.replace("%3B", ";").replace("%25", "%")
        for name, equals, value in pairs
        if equals
    }


def joined(judge_versions: Iterable[str]) -> str:
    """Return the names under which a judge answered for one value as one text."""
    return " + ".join(sorted(judge_versions))[:LONGEST]


def fingerprint_of(files: Mapping[str, str]) -> str:
    """Return 8 digits for files by path and SHA-256; empty for none."""
    return digest(sorted(files.items()), SHORT) if files else ""


def identity_of(metric: Metric, *, truth: str = "", repeat: str = "") -> Identity:
    """Return the identity of the values that a metric would compute here and now.

    A metric may have `weights`; `prompt_files`, the SHA-256 of each text for a judge by
    its file; and `exact`, whether its networks never round to bf16. `truth`: the method
    with the true outputs. `repeat`: number of an independent repetition of a judge's
    answers. FatalError if weights are missing or altered, or no judge is set.
    """
    info = metric.info
    files = {k: v for one in weights_of(metric) for k, v in one.hashes().items()}
    number_format = ""
    if files:
        number_format = "fp32" if getattr(metric, "exact", False) else precision()
    settings, judge = _own(truth, repeat), ""
    prompt_files: Mapping[str, str] = getattr(metric, "prompt_files", {})
    if info.queue == "judge":
        # A judge is imported only where one is asked.
        from evalcore.metrics.llm_judge.client import the_judge

        asked = the_judge().settings
        judge = asked.name
        settings |= asked.identity
        settings |= {PROMPTS: fingerprint_of(prompt_files)} if prompt_files else {}
    return Identity(
        info.name,
        info.version,
        info.profile,
        info.backend,
        weights=fingerprint_of(files),
        precision=number_format,
        judge=judge,
        settings=write_settings(settings),
        weight_files=files,
        prompt_files=dict(prompt_files),
    )


_read: dict[str, str] = {}


def check_unchanged(identity: Identity) -> None:
    """Raise WeightsError if a file of weights changed since this process read it.

    A network stays in memory, so that a new file would be named but not used.
    """
    for path, sha256 in identity.weight_files.items():
        if _read.setdefault(path, sha256) != sha256:
            raise WeightsError(
                f"{path} was replaced while this worker ran: restart the workers"
            )
