"""Telltales are found however they are written, and nothing else is."""

import pytest

from annotate.blinding import leak_scan
from annotate.blinding.findings import Telltale, Telltales
from annotate.blinding.seat_crawl import SeatAnswer
from evalcore.models import Method, Output
from tests.factories import make_benchmark

INTERFACE = "Left Right Show the original. Shot 3"


def telltales(*names: str) -> Telltales:
    return Telltales([Telltale(n, "name", frozenset([n])) for n in names], INTERFACE)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("UNO", "/media/uno/1.png"),
        ("UNO", "uno_base"),
        ("UNO", "by Uno."),
        ("GPT-4o", "gpt_4o.png"),
        ("GPT-4o", "GPT%2D4O"),
        ("GPT-4o", "gpt4o"),
        ("Story-Adapter", "a=story%20adapter&b"),
        ("MovieAgent (ROICtrl)", "MovieAgent_ROICtrl"),
        ("故事机", "这是故事机画的"),
        ("Émile", "émile"),
    ],
)
def test_name_is_found(name, text):
    assert [found.text for found in telltales(name).find(text)] == [name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("UNO", "unopened"),
        ("UNO", "juno"),
        ("GPT-4o", "gpt-4omni"),
        ("Story-Adapter", "the story of an adapter"),
        ("Émile", "Émilement"),
    ],
)
def test_similar_words_are_not_reported(name, text):
    assert not list(telltales(name).find(text))


def test_interface_texts_are_not_telltales():
    told = Telltale("Own words", "name", frozenset(["Own words"]))
    found = Telltales([told], leak_scan.interface()).find("In your own words")
    assert not list(found)


def test_short_words_are_not_searched_in_bytes():
    found = telltales("Alder-XL", "UNO").find_bytes(b"\0\xffalder-xl\0 uno \xfe")
    assert [one.text for one in found] == ["Alder-XL"]


@pytest.mark.django_db
def test_values_shared_by_all_methods_are_not_telltales():
    benchmark = make_benchmark(stories=1, shots=1, methods=("UNO", "Dos"))
    for output in Output.objects.select_related("method"):
        name = output.method.name.lower()
        output.source = f"/data/{name}_v2/shots/01"
        output.mode, output.timestamp, output.language = "base", "20250501", "en"
        output.save()
    Method.objects.filter(name="UNO").update(family="closed")
    Output.objects.filter(method__name="Dos").update(timestamp="20250502")
    outputs = Output.objects.filter(story__benchmark=benchmark)
    told = {(one.kind, one.text) for one in leak_scan.telltales(outputs)}
    assert told == {
        ("name", "UNO"),
        ("name", "Dos"),
        ("family", "closed"),
        ("timestamp", "20250501"),
        ("timestamp", "20250502"),
        ("folder", "uno_v2"),
        ("folder", "dos_v2"),
        ("folder", "/data/uno_v2/shots/01"),
        ("folder", "/data/dos_v2/shots/01"),
    }


HTML = b"""<!doctype html><p title="a">b<!-- c --></p>
<a href="/rate/d/">e</a><img src="/rate/f/" alt="&eacute;"><video poster="/rate/g/"
data-next-url="/rate/h/"></video><script src="/static/i.js"></script>"""


def test_addresses_and_text_of_a_page_are_read():
    page = SeatAnswer("/rate/x/", 200, {"Content-Type": "text/html"}, (), HTML)
    assert list(page.named()) == [f"/rate/{letter}/" for letter in "dfgh"]
    assert list(page.named(embedded=True)) == ["/rate/f/", "/rate/g/"]
    assert "\u00e9" in page.text


def test_addresses_and_text_of_json_are_read():
    body = b'{"a": ["/rate/b/", {"c": "\\u00e9"}], "n": 3}'
    answer = SeatAnswer("/rate/x/", 200, {"Content-Type": "application/json"}, (), body)
    assert list(answer.named()) == ["/rate/b/"]
    assert "\u00e9" in answer.text
