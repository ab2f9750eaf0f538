"""Options that several subcommands share; `AlignOptions` has their defaults."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from analysis.commands.option_values import (
    chosen_identities,
    count,
    names_or_none,
    share,
    split_names,
    subset,
)
from analysis.options import (
    COEFFICIENTS,
    EPSILONS,
    FIGURES,
    KNOWN_COEFFICIENTS,
    KNOWN_LEVELS,
    LANGUAGES,
    LEVELS,
    AlignOptions,
)

NAMES = '"A,B"'


def _some_of(known: Sequence[str], default: Sequence[str]) -> dict[str, Any]:
    words = f"some of {', '.join(known)}; default {', '.join(default)}"
    return {"help": words, "type": subset(known), "metavar": NAMES}


ARGUMENTS: dict[str, dict[str, Any]] = {
    "resamples": {"help": "default 1000; 0: none", "type": count},
    "resample": {
        "help": "stories, methods, annotators, units, or two joined by +",
        "metavar": "UNIT",
    },
    "confidence": {"help": "of intervals; default 0.95", "type": share},
    "seed": {"help": "of every random step; default 0", "type": count},
    "top": {
        "help": "also report whether the best K methods differ from all others",
        "type": count,
        "metavar": "K",
    },
    "top_confidence": {
        "help": "how sure that has to be; default as --confidence",
        "type": share,
    },
    "split_by": {
        "help": 'tags of stories that split the tables; default all, "" for none',
        "type": split_names,
        "metavar": NAMES,
    },
    "components": {
        "help": "metrics whose weights are fitted to people's preferences; default all",
        "type": split_names,
        "metavar": NAMES,
    },
    "demanded": {
        "help": "pairwise accuracy that metrics are held against; VISTAR's is 0.75",
        "type": share,
    },
    "equivalent_within": {
        "help": "test whether declared metrics, or each metric and the best, differ by "
        "less than this",
        "type": share,
        "metavar": "MARGIN",
    },
    "replaces_within": {
        "help": "how much worse than an annotator a metric may be, to take the place "
        "of one, where no epsilon was declared for it",
        "type": share,
        "metavar": "EPSILON",
    },
    "epsilon": {
        "help": "how the tie threshold of acc_eq is tuned; default heldout",
        "choices": EPSILONS,
    },
    "language": {
        "help": "of sentences, headings and figures; default en",
        "choices": LANGUAGES,
    },
    "figures": {
        "help": "all: each annotator and weighted metrics too; default main",
        "choices": FIGURES,
    },
    "paper": {
        "help": "also write paper/: tables and texts for a paper, as LaTeX, CSV, Word",
        "action": "store_true",
    },
    "questions": {
        "help": "dimensions, criteria; the only ones covered; default all",
        "type": split_names,
        "metavar": NAMES,
    },
    "metrics": {
        "help": 'the only ones covered; default all; "": a report of people alone',
        "type": names_or_none,
        "metavar": NAMES,
    },
    "exclude_methods": {
        "help": "a name with a comma in it can be written with a backslash before it",
        "type": split_names,
        "metavar": NAMES,
    },
    "baseline": {
        "help": "methods to compare with: win rates are those of the others over them; "
        "of two, the one named first",
        "type": split_names,
        "metavar": NAMES,
    },
    "identity": {
        "help": "of metrics whose scores have several identities, the one to use",
        "type": chosen_identities,
        "metavar": "METRIC=ID",
    },
    "compare_identities": {
        "help": "report each identity of a metric as a metric of its own",
        "action": "store_true",
    },
    "mix_identities": {
        "help": "pool the scores of all identities of a metric",
        "action": "store_true",
    },
    "levels": _some_of(KNOWN_LEVELS, LEVELS),
    "coefficients": _some_of(KNOWN_COEFFICIENTS, COEFFICIENTS),
}
RESAMPLING = ("resamples", "resample", "confidence", "seed")
PAPER = ("paper",)
TOP = ("top", "top_confidence")
IDENTITIES = ("identity", "compare_identities", "mix_identities")
CHOICE = ("questions", "metrics", "exclude_methods", *IDENTITIES)
WITH_LEVELS = (*CHOICE, "levels", "coefficients")
ALIGNMENT = (
    *WITH_LEVELS,
    *TOP,
    "baseline",
    "split_by",
    "components",
    "demanded",
    "equivalent_within",
    "replaces_within",
    "epsilon",
    *PAPER,
)


def add(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Add some of `ARGUMENTS`."""
    usual = AlignOptions()
    for name in names:
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, default=getattr(usual, name), **ARGUMENTS[name])
