"""Whose pictures or videos have a shape of their own among those of a story. Pure."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

# Width and height.
Size = tuple[int, int]
Alike = Callable[[Size, Size], bool]

TOLERANCE = 1.02
# Of a method's pictures; fewer hardly tell whose they are.
LEAST_SHARE = 0.05
# Times as large as now the others' would be without a method.
LEAST_GAIN = 1.1


@dataclass(frozen=True)
class Sized:
    """How many pictures, or videos, of a method in a story have a size."""

    story: int
    method: str
    size: Size
    number: int = 1
    is_video: bool = False


@dataclass(frozen=True)
class OddShape:
    """Methods whose pictures differ in shape or size from most others."""

    methods: tuple[str, ...]
    others: int
    odd: int
    every: int
    size: Size
    usual: Size
    is_uniform: bool
    is_video: bool
    box: Size | None = None
    without: Size | None = None
    fill: float = 0.0
    others_fill: float = 0.0
    fill_without: float = 0.0
    left_out: tuple[str, ...] = ()

    @property
    def tells(self) -> bool:
        """Say whether so many differ that these methods are recognised."""
        return self.odd >= LEAST_SHARE * self.every

    @property
    def gain(self) -> float:
        """Return how many times as large the others' would be without those."""
        return self.fill_without / self.others_fill if self.others_fill else 1.0


def odd_shapes(shown: Iterable[Sized], *, same_size: bool = True) -> list[OddShape]:
    """Return methods that shape or size shows, or that make the others' small."""
    looked_at = _Compared(list(shown), same_size)
    found = [looked_at.described(names, names) for names in looked_at.candidates()]
    told = [one for one in found if one.tells or one.gain >= LEAST_GAIN]
    if not any(one.gain >= LEAST_GAIN for one in told):
        every = tuple(sorted({name for one in told for name in one.methods}))
        told = [looked_at.described(one.methods, every) for one in told]
    return sorted(told, key=lambda one: (-one.gain, -one.odd / one.every, one.methods))


def is_same_shape(one: Size, other: Size) -> bool:
    """Say whether two sizes have one shape, up to 2 %."""
    return _close(one[0] * other[1], other[0] * one[1])


def is_same_size(one: Size, other: Size) -> bool:
    """Say whether two sizes are the same, up to 2 % in each direction."""
    return _close(one[0], other[0]) and _close(one[1], other[1])


def _close(one: int, other: int) -> bool:
    return max(one, other) <= TOLERANCE * min(one, other) + 1e-9


def filled(size: Size, box: Size) -> float:
    """Return the share of a box that a picture fills when it is fitted into it."""
    across, down = size[0] * box[1], box[0] * size[1]
    return min(across, down) / max(across, down)


def box_of(shown: Iterable[Sized]) -> Size | None:
    """Return the largest width and the largest height, of nothing None."""
    sizes = [one.size for one in shown]
    return (max(w for w, _h in sizes), max(h for _w, h in sizes)) if sizes else None


def _usual_sizes(
    shown: Sequence[Sized], alike: Alike, box: Size | None
) -> dict[int, list[Size]]:
    """Return what more than half of a story's methods have, or else what most have."""
    stories: dict[int, dict[str, Counter[Size]]] = defaultdict(dict)
    for one in shown:
        sizes = stories[one.story].setdefault(one.method, Counter())
        sizes[one.size] += one.number
    usual = {}
    for story, methods in stories.items():
        if len(methods) > 1:
            having = _having(methods, alike)
            most = max(
                having, key=lambda s: (having[s], box and filled(s, box), s[0] / s[1])
            )
            shared = [size for size in having if having[size] > len(methods) / 2]
            usual[story] = [most, *shared]
    return usual


def _having(methods: dict[str, Counter[Size]], alike: Alike) -> dict[Size, int]:
    listed = sorted(
        (size[0] / size[1], size, method)
        for method, sizes in methods.items()
        for size in _distinct(sizes, alike)
    )
    shapes = [shape for shape, _size, _method in listed]
    having = {}
    for shape, size, _method in listed:
        first = bisect_left(shapes, shape / TOLERANCE**2)
        near = listed[first : bisect_right(shapes, shape * TOLERANCE**2)]
        having[size] = len({who for _s, other, who in near if alike(size, other)})
    return having


def _distinct(sizes: Counter[Size], alike: Alike) -> list[Size]:
    """Return the sizes of which none is like another, the most frequent first."""
    kept: list[Size] = []
    for size, _number in sizes.most_common():
        if not any(alike(size, other) for other in kept):
            kept.append(size)
    return kept


class _Compared:
    """All pictures of a study, each beside what is usual in its story."""

    def __init__(self, shown: Sequence[Sized], same_size: bool) -> None:
        self.shown, self.alike = shown, is_same_shape if same_size else is_same_size
        self.box = box_of(shown) if same_size else None
        usual = _usual_sizes(shown, self.alike, self.box)
        self.usual = {one: usual[one.story] for one in shown if one.story in usual}
        self.odd = [one for one in self.usual if self._is_odd(one)]

    def _is_odd(self, one: Sized) -> bool:
        return not any(self.alike(one.size, size) for size in self.usual[one])

    def candidates(self) -> Iterator[tuple[str, ...]]:
        """Yield methods with enough odd pictures, and those that enlarge the box."""
        every, differ = _numbers(self.usual), _numbers(self.odd)
        groups: list[tuple[Size, list[str]]] = []
        for method in sorted(every):
            if differ[method] < LEAST_SHARE * every[method]:
                if self._larger(method):
                    yield (method,)
                continue
            size = self._odd_size((method,))
            for other, names in groups:
                if self.alike(size, other):
                    names.append(method)
                    break
            else:
                groups.append((size, [method]))
        for _size, names in groups:
            is_minority = 2 * len(names) <= len(every)
            yield from [tuple(names)] if is_minority else [(name,) for name in names]

    def _odd_size(self, methods: tuple[str, ...]) -> Size:
        """Return the most frequent size of these methods' odd pictures."""
        return _most_frequent(
            (one.size, one.number) for one in self.odd if one.method in methods
        )

    def _larger(self, method: str) -> bool:
        """Say whether the box would have another shape without a method."""
        without = self._box_without((method,))
        return bool(self.box and without and not is_same_shape(self.box, without))

    def _box_without(self, methods: tuple[str, ...]) -> Size | None:
        """Return the box without these; what only they rendered is nobody's fault."""
        return box_of(
            one
            for one in self.shown
            if one.method not in methods or one not in self.usual
        )

    def described(
        self, methods: tuple[str, ...], left_out: tuple[str, ...]
    ) -> OddShape:
        """Return the numbers of a finding, and what leaving methods out would do."""
        own = [one for one in self.usual if one.method in methods]
        others = [one for one in self.usual if one.method not in methods]
        odd = [one for one in self.odd if one.method in methods]
        usual = [one for one in others if not self._is_odd(one)]
        size = self._odd_size(methods) if odd else box_of(own)
        replaced = [(self.usual[one][0], one.number) for one in odd if one.size == size]
        instead = _most_frequent(replaced) if odd else box_of(others)
        assert size is not None  # they have pictures,
        assert instead is not None  # and are compared with others
        without = self._box_without(left_out) if self.box else None
        return OddShape(
            methods,
            others=len({one.method for one in others}),
            odd=sum(one.number for one in odd),
            every=sum(one.number for one in own),
            size=size,
            usual=instead,
            is_uniform=all(self.alike(one.size, size) for one in own)
            and all(self.alike(one.size, instead) for one in others),
            is_video=all(one.is_video for one in odd or own),
            box=self.box,
            without=without,
            fill=_mean_fill(odd or own, self.box),
            others_fill=_mean_fill(usual, self.box),
            fill_without=_mean_fill(
                [one for one in usual if one.method not in left_out], without
            ),
            left_out=left_out,
        )


def _numbers(shown: Iterable[Sized]) -> Counter[str]:
    """Return how many pictures each method has."""
    numbers: Counter[str] = Counter()
    for one in shown:
        numbers[one.method] += one.number
    return numbers


def _most_frequent(sizes: Iterable[tuple[Size, int]]) -> Size:
    """Return the size that most pictures have, of equally many the largest."""
    numbers: Counter[Size] = Counter()
    for size, number in sizes:
        numbers[size] += number
    return max(numbers, key=lambda size: (numbers[size], size))


def _mean_fill(shown: Sequence[Sized], box: Size | None) -> float:
    number = sum(one.number for one in shown)
    if box is None or not number:
        return 0.0
    return sum(one.number * filled(one.size, box) for one in shown) / number
