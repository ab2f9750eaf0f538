"""The ranking kind: three to five outputs in order, best first."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext_lazy
from pydantic import Field

from annotate.kinds.base import (
    AnswerError,
    BadAnswerError,
    Fields,
    Option,
    Row,
    Value,
    form_field,
)
from annotate.kinds.choice.kind import ChoiceKind
from annotate.kinds.question import DegradableQuestion
from annotate.models import Question, Ranking, Slot, Study
from annotate.models.answers import TIED
from annotate.models.studies import LETTERS, MOST_SHOWN, PLACES
from annotate.quality_rules.signals import EFFORT, HASTE
from annotate.schema import Switch, refusal

# Separates the ranks in an answer, best first; `TIED` separates positions of one rank.
BEFORE = ">"
# Outputs of one rank in a stored answer, which has no other separator.
ONE_RANK = re.compile(f"[{LETTERS}](?:{TIED}[{LETTERS}])*")


def shown_letters(slot: Slot) -> str:
    """Return the letters of a slot's outputs in screen order."""
    return "".join(LETTERS[place] for place in slot.order)


def ranks_of(value: Value) -> dict[str, int]:
    """Return the rank of each output of a stored answer, from 1, best first."""
    found = ONE_RANK.findall(str(value))
    return {
        letter: rank
        for rank, letters in enumerate(found, start=1)
        for letter in letters.split(TIED)
    }


def stored_order(ranks: Mapping[str, int]) -> str:
    """Return the stored answer that gives outputs, by letter, these ranks."""
    letters = sorted(sorted(ranks), key=ranks.__getitem__)
    return "".join(TIED.join(own) for _rank, own in groupby(letters, ranks.get))


class RankingQuestion(DegradableQuestion):
    """A criterion for ranking outputs; `allow_tie` lets outputs share a rank."""

    kind: Literal["ranking"]
    allow_tie: Switch = Field(
        False,
        exclude_if=lambda value: not value,
        title=gettext_noop("Versions may share a rank"),
    )

    def known_answer(self, value: Any, methods: Sequence[str]) -> tuple[str, ...]:
        """Return methods in the right order; other methods can be between them."""
        is_list = isinstance(value, list | tuple)
        named = [str(name) for name in value] if is_list else []
        if (
            len(named) < 2
            or len(set(named)) < len(named)
            or not set(methods).issuperset(named)
        ):
            start = ", ".join(methods[:2])
            message = f"list methods of the unit, the better first, such as [{start}]"
            raise refusal(message)
        return tuple(named)


class RankingKind(ChoiceKind):
    """An order of all outputs, analysed as the choices it implies."""

    name = "ranking"
    place = 4
    is_pairwise = False
    title = gettext_lazy("rankings")
    phrase = gettext_lazy("several methods ranked")
    heading = gettext_lazy("Rank the versions of the story")
    asks = ngettext_lazy(
        "Several methods ranked, %(n)s question:",
        "Several methods ranked, %(n)s questions:",
        "n",
    )
    template = "rate/_ranking.html"
    scripts = ("ranking",)
    keys_template = "rate/_keys_ranking.html"
    wanted = "versions, the best first, such as 2>1>3, or 2=3>1 where ties are allowed"
    least, most = 3, MOST_SHOWN
    model = Ranking
    table = "rankings"
    controls = ("repeat",)
    # There is no left or right, and orders hardly repeat by chance.
    signals = (*HASTE, "repeat", "majority", "relative_agreement", *EFFORT)
    seconds = 20
    definition = RankingQuestion
    columns = ("story", "method", "criterion", "annotator", "rank", "place")
    more_columns = ()
    fields_read = ("shown",)

    def is_right(self, value: Value, expected: Sequence[int] | str) -> bool:
        """Return whether the expected outputs come in the expected order."""
        places = [ranks_of(value)[str(letter)] for letter in expected]
        return places == sorted(set(places))

    def fields(self, slot: Slot, question: Question, value: Value) -> Fields:
        """Turn positions on the screen into letters of the unit's outputs."""
        letters = shown_letters(slot)
        places = [str(number) for number in range(1, len(letters) + 1)]
        order = [tied.split(TIED) for tied in str(value).split(BEFORE)]
        is_tied = len(order) < len(places)
        given = sorted(place for tied in order for place in tied)
        if given != places or (is_tied and not question.allow_tie):
            text = _(
                "Give each version a different rank: %(value)s is not an order of "
                "%(places)s, such as %(example)s."
            )
            if question.allow_tie:
                text = _(
                    "Give each version a rank: %(value)s is not an order of "
                    "%(places)s, such as %(example)s."
                )
            about = {
                "value": str(value)[:40],
                "places": ", ".join(places),
                "example": BEFORE.join(places),
            }
            raise BadAnswerError(text % about)
        ranks = {letters[int(p) - 1]: n for n, tied in enumerate(order) for p in tied}
        return {"value": stored_order(ranks), "shown": letters}

    def stored_fields(self, slot: Slot, question: Question, value: Value) -> Fields:
        """Return the fields of an order given in letters."""
        letters = shown_letters(slot)
        if not _is_order(str(value), letters):
            raise AnswerError(f"{value!r} is no order of {', '.join(sorted(letters))}.")
        # An imported table does not say reliably what stood where.
        return {"value": value, "shown": "" if slot.study.is_imported else letters}

    def posted(self, question: Question, form: Mapping[str, str]) -> str | None:
        """Return the positions by rank, or the invalid ranks; None without ranks.

        Versions that share a rank without being allowed to are not sorted, since their
        order would be arbitrary.
        """
        begin = f"{form_field(question)}:"
        ranks = {
            name.removeprefix(begin): int(rank)
            for name, rank in form.items()
            if name.startswith(begin) and rank in PLACES
        }
        if len(set(ranks.values())) < len(ranks) and not question.allow_tie:
            return BEFORE.join(map(str, ranks.values()))
        order = sorted(ranks, key=ranks.__getitem__)
        tied = (TIED.join(own) for _rank, own in groupby(order, ranks.get))
        return BEFORE.join(tied) or None

    def options(self, slot: Slot, question: Question) -> tuple[Option, ...]:
        labels = self.labels()[: len(slot.unit.outputs)]
        return tuple((str(n), label, str(n)) for n, label in enumerate(labels, start=1))

    def example(self, slot: Slot, question: Question) -> str:
        """Return the outputs in screen order, as an example."""
        return BEFORE.join(place for place, *_rest in self.options(slot, question))

    def labels(self) -> list[str]:
        return [_("Version %(n)s") % {"n": n} for n in range(1, self.most + 1)]

    def as_displayed(self, slot: Slot, value: Value) -> str:
        """Return the positions on the screen, best first."""
        letters = shown_letters(slot)
        return BEFORE.join(
            TIED.join(sorted(str(letters.index(one) + 1) for one in tied.split(TIED)))
            for tied in ONE_RANK.findall(str(value))
        )

    def text_for_annotator(
        self, slot: Slot, question: Question, values: Sequence[Value]
    ) -> str:
        """Return the versions as the page names them, best first."""
        labels = self.labels()
        shown = re.sub(
            f"[{BEFORE}{TIED}]", r" \g<0> ", self.as_displayed(slot, values[0])
        )
        return re.sub(r"\d", lambda place: labels[int(place[0]) - 1], shown)

    def text_for_manager(self, slot: Slot, question: Question, value: Value) -> str:
        """Return the methods' names, best first."""
        methods = slot.unit.methods
        return f" {BEFORE} ".join(
            f" {TIED} ".join(methods[LETTERS.index(one)] for one in tied.split(TIED))
            for tied in ONE_RANK.findall(str(value))
        )

    def invalid_answers(self, study: Study) -> Iterator[str]:
        """Describe rankings that are not an order of their slot's outputs."""
        paths = study.output_paths("slot__unit__")
        rows = Ranking.objects.filter(slot__study=study, question__kind=self.name)
        for row in rows.select_related(*paths):
            letters = shown_letters(row.slot)
            if not _is_order(row.value, letters):
                yield f"ranking {row.pk}: {row.value} is no order of {letters}"
            if row.shown != letters and not study.is_imported:
                yield f"ranking {row.pk}: its places are not those of its slot"

    def rows(self, answer: Row, methods: Sequence[str]) -> list[Fields]:
        """Return rank and position on the screen of each method, best first."""
        return [
            {
                "method": methods[LETTERS.index(letter)],
                "criterion": answer["question__key"],
                "rank": rank,
                "place": answer["shown"].find(letter) + 1 or "",
            }
            for letter, rank in ranks_of(answer["value"]).items()
        ]

    def judgements(self, key: str, value: Value) -> dict[str, Value]:
        """Return the implied choice between every two outputs."""
        ranks = ranks_of(value)
        better = {-1: "a", 0: "tie", 1: "b"}
        return {
            f"{key} {first}{second}": better[_sign(ranks[first] - ranks[second])]
            for first, second in combinations(sorted(ranks), 2)
        }

    def worth(self, value: Value, place: int) -> float:
        """Return the share of the other outputs ranked below it; a tie is half."""
        ranks = ranks_of(value)
        own = ranks[LETTERS[place]]
        points = (1 + _sign(rank - own) for rank in ranks.values())
        return (sum(points) - 1) / 2 / (len(ranks) - 1)


def _is_order(value: str, letters: str) -> bool:
    """Return whether a stored answer ranks each letter once."""
    ranks = ranks_of(value)
    return stored_order(ranks) == value and sorted(ranks) == sorted(letters)


def _sign(difference: int) -> int:
    return (difference > 0) - (difference < 0)


KIND = RankingKind()
