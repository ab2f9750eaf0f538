"""Names that are written nearly alike, and in what alone they differ.

Importing this loads neither numpy nor pandas: imports into the database ask here too.
"""

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations

from analysis.problems import shown
from analysis.sentences import chained, sentence

# Among more names than this only those are near that are written nearly alike.
MOST_COMPARED = 5000
_SPACES = re.compile(r"[\s_\u002d\u2010-\u2015]+")
_BETWEEN_DIGITS = re.compile(rf"(?<=[0-9]){_SPACES.pattern}(?=[0-9])")
_ZEROS = re.compile(r"(?<![0-9.])0+(?=[0-9])")


def _joined(text: str) -> str:
    """Return a text without blanks and hyphens, which still tell 1-11 from 11-1."""
    return _SPACES.sub("", _BETWEEN_DIGITS.sub("\N{MIDDLE DOT}", text))


def _visible(text: str) -> str:
    """Return a text in its simplest letters, without those that cannot be seen."""
    plain = unicodedata.normalize("NFKC", text)
    return "".join(x for x in plain if unicodedata.category(x) != "Cf")


def without_zeros(text: str) -> str:
    """Return a text whose numbers begin with no zero.

    Examples
    --------
    >>> without_zeros("s007"), without_zeros("1.05"), without_zeros("0")
    ('s7', '1.05', '0')
    """
    return _ZEROS.sub("", text)


# In what names may differ though somebody meant the same.
FORMS: Mapping[str, Callable[[str], str]] = {
    sentence("case"): str.casefold,
    sentence("spaces, hyphens or underscores"): _joined,
    sentence("the Unicode form of letters"): _visible,
    sentence("zeros before numbers"): without_zeros,
}
# Only the kinds of difference needed to explain the spelling are named.
WAYS = [ways for n in range(1, len(FORMS) + 1) for ways in combinations(FORMS, n)]


class Nearest:
    """Finds which of some names another one may stand for."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = sorted(names)
        self._alike: dict[tuple[str, ...], dict[str, str]] = {}

    def told(self, name: str) -> str:
        """Return the nearest name and in what alone it differs; empty without one."""
        if same := self.alike(name):
            return same
        if len(self._names) > MOST_COMPARED:
            return ""
        near = difflib.get_close_matches(name, self._names, n=1)
        return repr(shown(near[0])) if near else ""

    def alike(self, name: str) -> str:
        """Return the name that differs in its form alone, and in what; empty if none.

        Examples
        --------
        >>> Nearest(["GPT-4o"]).alike("gpt 4o")
        "'GPT-4o', which differs only in case and in spaces, hyphens or underscores"
        """
        for forms in WAYS:
            if same := self._of(forms).get(written(name, forms)):
                return sentence(
                    "{name}, which differs only in {forms}",
                    name=repr(shown(same)),
                    forms=chained("{first} and in {second}", forms),
                )
        return ""

    def _of(self, forms: tuple[str, ...]) -> dict[str, str]:
        if forms not in self._alike:
            self._alike[forms] = {written(name, forms): name for name in self._names}
        return self._alike[forms]


def written(name: str, forms: Iterable[str] = FORMS) -> str:
    """Return a name as it is without differences in some forms; by default in any."""
    for form in forms:
        name = FORMS[form](name)
    return name
