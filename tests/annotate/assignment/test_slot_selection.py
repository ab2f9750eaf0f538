"""Choice of the best free slot, compared with every alternative."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from annotate.assignment.designs.shown_sides import (
    Candidate,
    SeenSoFar,
    best,
    keeps_even,
)

METHODS = st.integers(0, 4)
CANDIDATES = st.lists(
    st.builds(
        Candidate,
        slot=st.integers(0, 1000),
        story=st.integers(0, 5),
        methods=st.one_of(
            st.tuples(METHODS),
            st.tuples(METHODS, METHODS).filter(lambda pair: pair[0] != pair[1]),
        ),
        level=st.integers(1, 3),
        a_is_left=st.booleans(),
        round=st.just(1),
    ),
    max_size=12,
)
SEEN = st.builds(
    SeenSoFar,
    stories=st.sets(st.integers(0, 5)),
    methods=st.dictionaries(METHODS, st.integers(0, 5)).map(Counter),
)


def one(slot, story=1, methods=("a",), level=1, left=True):
    return Candidate(slot, story, methods, level, left)


def test_best_slot_has_the_less_frequent_side():
    """After "a" on the left of "b", "a" goes to the right of "c"."""
    seen = SeenSoFar()
    for slot in range(3):
        seen.add(one(slot, story=slot, methods=("a", "b")))
    assert seen.sides.of_method == {"a": 3, "b": -3}
    assert seen.sides.of_pair == {("a", "b"): 3}
    for pair, slot in ((("a", "b"), 2), (("a", "c"), 2), (("b", "c"), 1)):
        found = best([one(1, 9, pair), one(2, 9, pair, left=False)], seen)
        assert found.slot == slot


@given(CANDIDATES, SEEN)
def test_best_slot_has_new_story_and_even_share(candidates, seen):
    chosen = best(candidates, seen)
    if chosen is None:
        assert not candidates
        return

    def highest(candidate):
        return max(seen.methods[method] for method in candidate.methods)

    fresh = [c for c in candidates if c.story not in seen.stories]
    assert chosen in (fresh or candidates)
    assert highest(chosen) == min(map(highest, fresh or candidates))


@given(CANDIDATES, SEEN)
def test_even_share_does_not_widen_gaps(candidates, seen):
    for candidate in candidates:
        before = max(seen.methods.values(), default=0)
        after = SeenSoFar(set(seen.stories), Counter(seen.methods))
        after.add(candidate)
        if keeps_even(candidate, seen) and before:
            assert max(after.methods.values()) == before
            assert candidate.story not in seen.stories


@given(st.integers(1, 12), st.integers(1, 60))
def test_annotator_with_all_methods_free_stays_within_one(methods, slots):
    seen = SeenSoFar()
    for number in range(slots):
        free = [one(m, story=(number, m), methods=(m,)) for m in range(methods)]
        seen.add(best(free, seen))
    counts = [seen.methods[method] for method in range(methods)]
    assert max(counts) - min(counts) <= 1
