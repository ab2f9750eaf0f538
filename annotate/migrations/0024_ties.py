"""Ties in rankings, and imported rankings of up to nine outputs."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q, Value
from django.db.models.functions import Length, Replace
from django.db.models.lookups import Exact

LETTERS = "abcdefghi"
OUTPUTS = [f"output_{letter}" for letter in LETTERS]
CHANGED = {
    "ranking": ("ranking_letters_known", "ranking_is_whole"),
    "study": ("study_shows_one_to_five",),
    "unit": ("unit_once_of_5", "unit_outputs_differ"),
}


def forbid_ties(apps: Any, _editor: Any) -> None:
    """Ask rankings that were planned before for strict orders, as they were."""
    questions = apps.get_model("annotate", "Question").objects
    questions.filter(kind="ranking").update(allow_tie=False)


def without(field: str, marks: str) -> F | Replace:
    """Return a text without these characters."""
    left: F | Replace = F(field)
    for mark in marks:
        left = Replace(left, Value(mark), Value(""))
    return left


def added() -> Iterator[tuple[str, models.BaseConstraint]]:
    """Yield each new constraint and its model."""
    lettered = Q(
        Exact(without("value", "=" + LETTERS), Value("")),
        Exact(without("shown", LETTERS), Value("")),
    )
    yield "ranking", models.CheckConstraint(
        condition=lettered, name="ranking_letters_known"
    )
    whole = Q(Exact(Length(without("value", "=")), Length("shown")))
    yield "ranking", models.CheckConstraint(
        condition=Q(shown="") | whole, name="ranking_is_whole"
    )
    yield "study", models.CheckConstraint(
        condition=Q(outputs_at_once__gte=1, outputs_at_once__lte=9),
        name="study_shows_one_to_nine",
    )
    for n in range(5, 10):
        shown = Q(**{f"{OUTPUTS[n - 1]}__isnull": False})
        shown &= Q(**{f"{name}__isnull": True for name in OUTPUTS[n : n + 1]})
        fields = ["study", *OUTPUTS[:n], "purpose"]
        yield "unit", models.UniqueConstraint(
            fields=fields, condition=shown, name=f"unit_once_of_{n}"
        )
    differ = Q()
    for first, second in combinations(OUTPUTS, 2):
        differ &= Q(**{f"{second}__isnull": True}) | ~Q(**{second: F(first)})
    yield "unit", models.CheckConstraint(condition=differ, name="unit_outputs_differ")


class Migration(migrations.Migration):
    dependencies = [("annotate", "0023_link_opened"), ("evalcore", "0004_again")]

    operations = [
        migrations.RunPython(forbid_ties, migrations.RunPython.noop),
        *(
            migrations.RemoveConstraint(model, name)
            for model, names in CHANGED.items()
            for name in names
        ),
        *(
            migrations.AddField(
                "unit",
                name,
                models.ForeignKey(
                    "evalcore.output",
                    django.db.models.deletion.PROTECT,
                    related_name="+",
                    null=True,
                    blank=True,
                ),
            )
            for name in OUTPUTS[5:]
        ),
        migrations.AlterField(
            "ranking", "shown", models.CharField(max_length=9, blank=True)
        ),
        migrations.AlterField("ranking", "value", models.CharField(max_length=17)),
        migrations.AlterField(
            "unit",
            "arrangement",
            models.CharField(
                max_length=9,
                blank=True,
                default="",
                db_default="",
                help_text="Order of three or more outputs before a slot turns it, by "
                "their letters; empty: drawn from their ids.",
            ),
        ),
        *(migrations.AddConstraint(*one) for one in added()),
    ]
