"""What opens a page, and what is folded below."""

from analysis.report.sections import first_of_each, sections_of

TWO, FOUR = [(True, "a1"), (False, "a2")], [(False, f"b{k}") for k in range(4)]


def test_without_metrics_a_section_asks_of_groups_of_stories():
    said = {"disagreement": ((True, "core is harder."),), "people": ((True, "alike."),)}
    headings = [
        [section.heading for section in sections_of(said, (), has_metrics=has_metrics)]
        for has_metrics in (True, False)
    ]
    first = "Do people agree among themselves?"
    assert headings == [
        [first, "Where do metrics and people disagree?"],
        [first, "Do groups of stories differ?"],
    ]


def test_few_sentences_all_open_the_page():
    assert first_of_each([TWO, FOUR]) == ([*TWO, *FOUR], [])
    assert first_of_each([]) == ([], [])


def test_of_many_the_first_of_each_question_does():
    told, folded = first_of_each([TWO, FOUR, [(True, "c")]])
    assert told == [TWO[0], FOUR[0], (True, "c")]
    assert folded == [TWO[1], *FOUR[1:]]
