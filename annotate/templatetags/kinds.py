"""Template tags for kinds of questions, and cached parts of pages.

Parts that are the same for all annotators are rendered with placeholders for the link's
token and the slot's code, and cached by the values that they show.
"""

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from hashlib import blake2b
from itertools import count
from typing import Any

from django import template
from django.core.cache.backends.locmem import LocMemCache
from django.template import Context, Node, NodeList
from django.template.base import FilterExpression, Parser, Token
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from annotate.kinds.base import Kind, Option
from annotate.kinds.registry import answer_tables, kind_of, kinds_of
from annotate.models import Question, Study
from annotate.presentation.examples import example_of
from annotate.presentation.slot_view import LONGEST_ROW, ShownQuestion

# The texts of a shot in the order of the page.
SCRIPT = {
    "plot": gettext_lazy("Plot"),
    "caption": gettext_lazy("Caption"),
    "prompt": gettext_lazy("Prompt"),
    "explanation": gettext_lazy("Explanation"),
    "setting": gettext_lazy("Setting"),
    "static": gettext_lazy("Description"),
    "camera": gettext_lazy("Camera"),
}
# Fewer questions with the same scale are lists rather than a table.
LEAST_ROWS = 4

register = template.Library()
register.filter("kinds", kinds_of)
register.filter("tables", answer_tables)
register.filter("example", example_of)


@register.filter
def asked_of_shots(questions: Iterable[Question]) -> list[Question]:
    return [question for question in questions if kind_of(question).of_shots]


@register.filter
def asked_of_all(questions: Iterable[Question]) -> list[Question]:
    return [question for question in questions if not kind_of(question).of_shots]


@register.filter
def without_open_ended(questions: Iterable[ShownQuestion]) -> list[ShownQuestion]:
    """Return shown questions without open-ended answers, which are never cached."""
    return [
        replace(shown, answer="", refused="") if shown.kind.is_open_ended else shown
        for shown in questions
    ]


@register.simple_tag(takes_context=True)
def scripts_of(context: Context) -> list[str]:
    """Return the names of the scripts that a slot's page needs."""
    study = context["study"]
    if context["videos"]:
        viewer = ["player"]
    else:
        viewer = ["shots", "zoom", "looking"]
        viewer += ["compare"] if study.outputs_at_once == 2 else []
    asked = [
        script
        for kind in kinds_of(study)
        if context.get("sheets") or not kind.of_shots
        for script in kind.scripts
    ]
    asked += ["comments"] if study.may_comment_on_shots else []
    needed = ["story", "queue", "offline", "drafts", "pages", "state"]
    return [*needed, *viewer, *dict.fromkeys(asked)]


@register.filter
def unit_name(study: Study) -> str:
    """Return the heading for the methods of a unit: Method, Pair or Methods."""
    number = study.outputs_at_once
    return {1: _("Method"), 2: _("Pair")}.get(number, _("Methods"))


@register.filter
def script(texts: Mapping[str, str]) -> list[tuple[Any, str]]:
    """Return the texts of a shot, each with its title."""
    return [(title, texts[name]) for name, title in SCRIPT.items() if name in texts]


@register.filter
def side_name(side: str) -> str:
    """Return the heading of one of several outputs."""
    sides = {"left": _("Left"), "right": _("Right")}
    return sides.get(side) or _("Version %(n)s") % {"n": side}


@register.filter
def rank_of(answer: str, place: str) -> str:
    """Return the rank of a position in an answer such as `2>1=3`; empty: none."""
    tied = [rank for rank in answer.split(">") if place in rank.split("=")]
    return str(answer.split(">").index(tied[0]) + 1) if tied else ""


@register.filter
def shared_scale(questions: Sequence[ShownQuestion], kind: Kind) -> tuple[Option, ...]:
    """Return the common scale of questions that form a table; else nothing."""
    scales = [shown.options for shown in questions if shown.kind == kind]
    is_table = kind.is_numeric and len(scales) >= LEAST_ROWS and len(set(scales)) == 1
    return scales[0] if is_table and len(scales[0]) <= LONGEST_ROW else ()


@register.filter
def halves(label: str) -> list[str]:
    """Return a label up to its colon, and the rest; `Fair: small errors`."""
    return [*re.split("(?=[:：])", label, maxsplit=1), ""][:2]


@register.filter
def is_nominal(study: Study) -> bool:
    """Return whether none of a study's answers are ordered."""
    return all(kind.is_nominal for kind in kinds_of(study))


# Placeholders that no text contains by chance.
TOKEN, CODE = (str(10**17 + secrets.randbelow(9 * 10**17)) for _which in range(2))
PARTS = LocMemCache("parts", {"timeout": None, "max_entries": 1000})
NUMBERS = count()


class KeptNode(Node):
    """Template nodes between `kept` and `endkept`."""

    def __init__(self, values: Sequence[FilterExpression], inside: NodeList) -> None:
        self.values, self.nodelist = values, inside
        self.number = next(NUMBERS)

    def render(self, context: Context) -> SafeString:
        shown = [value.resolve(context) for value in self.values]
        state = repr((self.number, get_language(), context["route"], shown))
        key = blake2b(state.encode(), digest_size=16).hexdigest()
        part = PARTS.get(key)
        if part is None:
            part = self._made(context)
            PARTS.set(key, part)
        own = part.replace(TOKEN, context["token"]).replace(CODE, context["slot"].code)
        return SafeString(own)

    def _made(self, context: Context) -> str:
        slot = copy(context["slot"])
        slot.code = CODE
        with context.push(token=TOKEN, slot=slot):
            return str(self.nodelist.render(context))


@register.tag
def kept(parser: Parser, token: Token) -> KeptNode:
    """Cache the rendered content by the values of the named variables."""
    _name, *values = token.split_contents()
    inside = parser.parse(("endkept",))
    parser.delete_first_token()
    return KeptNode([parser.compile_filter(value) for value in values], inside)
