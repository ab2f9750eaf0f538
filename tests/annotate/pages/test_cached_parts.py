"""Cached parts of pages equal freshly rendered ones."""

import re

import pytest
from django.template import Context, Template
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from annotate.models import Invitation, Slot
from annotate.templatetags import kinds as kept
from tests.factories import make_benchmark, make_study
from tests.working import Browser, save

CSRF = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    """Clear the cache; return a counter of rendered parts."""
    made = []
    make = kept.KeptNode._made
    kept.PARTS.clear()
    monkeypatch.setattr(
        kept.KeptNode, "_made", lambda *given: made.append(1) or make(*given)
    )
    return made


def page(slot: Slot, language: str = "en") -> str:
    """Return a slot's page in its annotator's browser."""
    client = Client()
    browser = Browser(client, slot.annotator)
    browser.start()
    client.cookies["django_language"] = language
    shown = client.get(browser.address("slot", slot.code))
    assert shown.status_code == 200
    return CSRF.sub("", shown.content.decode())


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["likert", "choice", "checklist", "ranking"])
def test_cached_page_is_the_same_for_every_annotator(kind, monkeypatch, nothing_kept):
    benchmark = make_benchmark(stories=2)
    # There are enough people for two to have the same order.
    study = make_study(kind=kind, benchmark=benchmark, annotators=6)
    slots = {}
    for slot in study.slots.filter(unit=study.units.first()).order_by("pk"):
        slots.setdefault(tuple(slot.order), []).append(slot)
    first, second = next(same for same in slots.values() if len(same) > 1)[:2]
    page(first)
    at_first = len(nothing_kept)
    assert at_first
    warm = page(second)
    assert len(nothing_kept) == at_first, "nothing was made anew"
    kept.PARTS.clear()
    assert page(second) == warm
    assert len(nothing_kept) == 2 * at_first
    for other in (first.code, first.annotator.invitation.token, kept.CODE, kept.TOKEN):
        assert other not in warm
    assert second.code in warm


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["likert", "choice", "checklist", "ranking"])
def test_cached_parts_show_only_named_variables(kind, monkeypatch):
    """A value that a part shows without naming it could be another annotator's."""
    made = kept.KeptNode._made

    def made_of_named(node, context):
        named = {re.split("[|.]", value.token)[0] for value in node.values}
        known = context.flatten()
        left_out = known.keys() - named - {"token", "slot", "route", "study", "None"}
        hidden = dict.fromkeys(left_out - {"True", "False"})
        whole = made(node, context)
        with context.push(**hidden):
            assert made(node, context) == whole, node.values
        return whole

    monkeypatch.setattr(kept.KeptNode, "_made", made_of_named)
    study = make_study(kind=kind, benchmark=make_benchmark(stories=1))
    page(study.slots.filter(annotator__name="A01").first())


@pytest.mark.django_db
def test_cached_page_shows_rest_to_those_who_need_it(monkeypatch):
    study = make_study(benchmark=make_benchmark(stories=1))
    first, second = study.slots.order_by("annotator", "pk")[::3][:2]
    assert re.search('id="rest"[^>]* hidden', page(first))
    monkeypatch.setattr(
        "annotate.pages.annotator.slot.has_worked_since", lambda *_known: True
    )
    assert not re.search('id="rest"[^>]* hidden', page(second))


@pytest.mark.django_db
def test_cache_separates_languages_and_answers(monkeypatch):
    study = make_study(benchmark=make_benchmark(stories=2))
    slot = study.slots.filter(annotator__name="A01").first()
    english = page(slot)
    chinese = page(slot, "zh-hans")
    assert "狐狸" in chinese
    assert "狐狸" not in english
    assert page(slot) == english
    token = Invitation.objects.get(annotator=slot.annotator).token
    save(Client(), f"/rate/{token}/story/{slot.code}/", character="3")
    answered = page(slot)
    assert answered.count("checked") == english.count("checked") + 1
    kept.PARTS.clear()
    assert page(slot) == answered


@pytest.mark.django_db
def test_cached_page_shows_shots_added_later():
    benchmark = make_benchmark(stories=1)
    study = make_study(benchmark=benchmark)
    slot = study.slots.filter(annotator__name="A01").first()
    frame = slot.unit.output_a.frames.get(number=2)
    media, frame.media = frame.media, None
    frame.save()
    assert "This shot is missing." in page(slot)
    frame.media = media
    frame.save()
    assert "This shot is missing." not in page(slot)


@given(texts=st.lists(st.text(max_size=8), min_size=2, max_size=2))
def test_cache_never_swaps_texts(texts):
    template = Template("{% load kinds %}{% kept text %}<p>{{ text }}</p>{% endkept %}")
    slot = Slot(code="x")
    for text in texts * 2:
        context = {"text": text, "slot": slot, "token": "t", "route": "rate"}
        plain = Template("<p>{{ text }}</p>").render(Context(context))
        assert template.render(Context(context)) == plain
