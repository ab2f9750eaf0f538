"""The ranking kind: three to five outputs in order, best first."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

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
from annotate.models.studies import LETTERS, PLACES
from annotate.quality_rules.signals import EFFORT, HASTE
from annotate.schema import refusal

# Separates the positions in an answer.
BEFORE = ">"


def shown_letters(slot: Slot) -> str:
    """Return the letters of a slot's outputs in screen order."""
    return "".join(LETTERS[place] for place in slot.order)


def _rank(value: Value, place: int) -> int:
    """Return the number of outputs ranked above one output."""
    return str(value).index(LETTERS[place])


class RankingQuestion(DegradableQuestion):
    """A criterion for ranking outputs."""

    kind: Literal["ranking"]

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
    """An order of all outputs without ties, analysed as the choices it implies."""

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
    wanted = "versions, the best first, such as 2>1>3"
    least, most = 3, len(LETTERS)
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
        places = [str(value).index(str(letter)) for letter in expected]
        return places == sorted(places)

    def fields(self, slot: Slot, question: Question, value: Value) -> Fields:
        """Turn positions on the screen into letters of the unit's outputs."""
        letters = shown_letters(slot)
        places = [str(number) for number in range(1, len(letters) + 1)]
        order = str(value).split(BEFORE)
        if sorted(order) != places:
            raise BadAnswerError(
                _(
                    "Give each version a different rank: %(value)s is not an order of "
                    "%(places)s, such as %(example)s."
                )
                % {
                    "value": str(value)[:40],
                    "places": ", ".join(places),
                    "example": BEFORE.join(places),
                }
            )
        ranked = "".join(letters[int(place) - 1] for place in order)
        return {"value": ranked, "shown": letters}

    def stored_fields(self, slot: Slot, question: Question, value: Value) -> Fields:
        """Return the fields of an order given in letters."""
        letters = shown_letters(slot)
        if sorted(str(value)) != sorted(letters):
            raise AnswerError(f"{value!r} is no order of {', '.join(sorted(letters))}.")
        return {"value": value, "shown": letters}

    def posted(self, question: Question, form: Mapping[str, str]) -> str | None:
        """Return the positions by rank, or the invalid ranks; None without ranks.

        Versions that share a rank are not sorted, since their order would be arbitrary.
        """
        begin = f"{form_field(question)}:"
        ranks = {
            name.removeprefix(begin): int(rank)
            for name, rank in form.items()
            if name.startswith(begin) and rank in PLACES
        }
        if len(set(ranks.values())) < len(ranks):
            return BEFORE.join(map(str, ranks.values()))
        return BEFORE.join(sorted(ranks, key=ranks.__getitem__)) or None

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
        return BEFORE.join(str(letters.index(letter) + 1) for letter in str(value))

    def text_for_annotator(
        self, slot: Slot, question: Question, values: Sequence[Value]
    ) -> str:
        """Return the versions as the page names them, best first."""
        labels = self.labels()
        places = self.as_displayed(slot, values[0]).split(BEFORE)
        return f" {BEFORE} ".join(labels[int(place) - 1] for place in places)

    def text_for_manager(self, slot: Slot, question: Question, value: Value) -> str:
        """Return the methods' names, best first."""
        methods = slot.unit.methods
        return " > ".join(methods[LETTERS.index(letter)] for letter in str(value))

    def invalid_answers(self, study: Study) -> Iterator[str]:
        """Describe rankings that are not an order of their slot's outputs."""
        paths = study.output_paths("slot__unit__")
        rows = Ranking.objects.filter(slot__study=study, question__kind=self.name)
        for row in rows.select_related(*paths):
            if sorted(row.value) != sorted(row.shown):
                yield f"ranking {row.pk}: {row.value} is no order of {row.shown}"
            if row.shown != shown_letters(row.slot):
                yield f"ranking {row.pk}: its places are not those of its slot"

    def rows(self, answer: Row, methods: Sequence[str]) -> list[Fields]:
        """Return rank and position on the screen of each method, best first."""
        return [
            {
                "method": methods[LETTERS.index(letter)],
                "criterion": answer["question__key"],
                "rank": rank,
                "place": answer["shown"].index(letter) + 1,
            }
            for rank, letter in enumerate(answer["value"], start=1)
        ]

    def judgements(self, key: str, value: Value) -> dict[str, Value]:
        """Return the implied choice between every two outputs."""
        rank = str(value).index
        return {
            f"{key} {first}{second}": "a" if rank(first) < rank(second) else "b"
            for first, second in combinations(LETTERS[: len(str(value))], 2)
        }

    def worth(self, value: Value, place: int) -> float:
        """Return the share of the other outputs ranked below the output."""
        others = len(str(value)) - 1
        return (others - _rank(value, place)) / others


KIND = RankingKind()
