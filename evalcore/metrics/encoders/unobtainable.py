"""What stands where a metric's encoder would be, if anybody could obtain it.

The formula of such a metric is here and tested; what would look at the items is not. No
network library is imported.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

from evalcore.metrics.weights import Lacks, WeightsError


class Unobtainable:
    """An encoder that refuses everything, and says what it lacks.

    `lacks`: what nobody can obtain, as `evalcore.metrics.weights.unobtainable` returns
    it; a metric's `missing` returns the same.

    >>> from evalcore.metrics.weights import unobtainable
    >>> MISSING = unobtainable("DOVER", "it has no maintained package")
    >>> class Quality:
    ...     encoder = Unobtainable(MISSING)
    """

    batch = 1

    def __init__(self, lacks: Lacks) -> None:
        self.lacks = lacks

    @property
    def id(self) -> str:
        """Refuse: what it lacks cannot be named."""
        self._refuse()

    def prepare(self, item: Any) -> NoReturn:
        """Refuse, as `id` does."""
        self._refuse()

    def encode(self, prepared: Sequence[Any]) -> NoReturn:
        """Refuse, as `id` does."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise WeightsError(str(self.lacks))
