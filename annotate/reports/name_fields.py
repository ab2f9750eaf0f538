"""Fields whose values are names; an unknown one is told what there is."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from analysis.problems import listed, shown


def unknown(name: str, names: Sequence[str]) -> forms.ValidationError:
    """Return what is told of a name that is none of those there are."""
    near = get_close_matches(name, names) or names
    return forms.ValidationError(
        _("There is no %(name)s here. Expected: %(names)s."),
        params={"name": shown(name), "names": listed(near)},
    )


class NamesField(forms.MultipleChoiceField):
    """Some of the names that a study has."""

    widget = forms.CheckboxSelectMultiple
    choices: Any

    @property
    def names(self) -> list[str]:
        return [name for name, _label in self.choices]

    def offer(self, choices: Iterable[tuple[str, str]]) -> None:
        """Offer names with their labels, all of them ticked."""
        self.choices = list(choices)
        self.initial = self.names
        self.required = self.required and bool(self.choices)

    def validate(self, value: list[str]) -> None:
        if self.required and not value:
            raise forms.ValidationError(self.error_messages["required"])
        for name in value:
            if name not in self.names:
                raise unknown(name, self.names)

    def chosen(self, value: list[str]) -> tuple[str, ...] | None:
        """Return the names that were ticked, in their order; None: all of them."""
        found = tuple(name for name in self.names if name in value)
        return None if len(found) == len(self.names) else found


class NameField(forms.ChoiceField):
    """One name, or none."""

    choices: Any

    @property
    def names(self) -> list[str]:
        return [name for name, _label in self.choices if name]

    def validate(self, value: str) -> None:
        if value and value not in self.names:
            raise unknown(value, self.names)
