"""How much oftener a person met each method on the left than on the right. Pure."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass
class ShownSides:
    """Left minus right by method, and of the first method by pair of methods."""

    of_method: Counter[Hashable] = field(default_factory=Counter)
    of_pair: Counter[tuple[Hashable, ...]] = field(default_factory=Counter)

    def add(
        self, methods: tuple[Hashable, ...], a_is_left: bool | None, times: int = 1
    ) -> None:
        """Count slots that show these methods."""
        if a_is_left is None or len(methods) != 2:
            return
        step = times if a_is_left else -times
        self.of_method[methods[0]] += step
        self.of_method[methods[1]] -= step
        self.of_pair[methods] += step

    def cost(self, methods: tuple[Hashable, ...], a_is_left: bool | None) -> int:
        """Return how uneven another slot would make it, compared with other slots."""
        if a_is_left is None or len(methods) != 2:
            return 0
        apart = self.of_method[methods[0]] - self.of_method[methods[1]]
        return (2 * apart + self.of_pair[methods]) * (1 if a_is_left else -1)
