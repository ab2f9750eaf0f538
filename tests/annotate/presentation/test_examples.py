"""Pictured examples: selection of shots, texts, access."""

import io
import re
from collections import Counter

import numpy as np
import pytest
from django.urls import reverse
from PIL import Image

from annotate.blinding.blinding_check import BlindingCheck
from annotate.blinding.seat_crawl import Seat, visit_pages
from annotate.pages.annotator import media_files
from annotate.presentation.examples import (
    ExampleShot,
    picked,
)
from tests.browser.reels import make_drawn_reels
from tests.factories import make_benchmark
from tests.working import Browser, make_planned

pytestmark = pytest.mark.django_db

ASKED = """
kind: likert
scale: [0, 4]
questions:
  - {key: cast, title: Cast, text: "Same?", degradation: foreign_shot}
  - {key: beauty, title: Beauty, text: "How nice?", help: Look at the light.}
"""


def shots(number, changed):
    return [ExampleShot(n, n in changed, n) for n in range(1, number + 1)]


@pytest.mark.parametrize(
    ("number", "changed", "expected"),
    [
        (1, {1}, [1]),
        (4, {2}, [1, 2, 3, 4]),
        (6, {1, 2, 3, 4, 5, 6}, [1, 2, 3, 4, 5, 6]),
        (16, {3, 7, 9, 12, 16}, [1, 2, 3, 4, 7, 9]),
        (16, {15}, [1, 2, 3, 4, 5, 15]),
        (9, set(range(1, 10)), [1, 2, 3, 4, 5, 6]),
        (9, set(range(2, 10)), [1, 2, 3, 4, 5, 6]),
    ],
)
def test_example_shots_include_changed_ones(number, changed, expected):
    found = picked(shots(number, changed), "foreign_shot")
    assert found == [(n, n in changed, n) for n in expected]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ([3, 1, 2], [3, 1, 2]),
        ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]),
        ([8, 9, 7, 5, 4, 6, 3, 1, 2], [9, 7, 5, 4, 6, 3]),
        ([10, 11, 12, 9, 8, 7, 4, 6, 5, 3, 2, 1], [9, 8, 7, 4, 6, 5]),
    ],
)
def test_example_of_shuffled_copy_has_exchanged_shots(order, expected):
    twin = [ExampleShot(n, n != came, came) for n, came in enumerate(order, start=1)]
    found = picked(twin, "shuffled")
    assert [one.picture_of for one in found] == expected
    first = found[0].number
    assert [one.number for one in found] == [first + n for n in range(len(found))]


@pytest.fixture
def study():
    return make_planned(
        ASKED, benchmark=make_benchmark(stories=3, shots=4), annotators=3
    )


@pytest.fixture
def browser(client, study):
    return Browser(client, study.annotators.get(name="A01"))


def pictures(page):
    return re.findall(r'src="(/rate/[^"]+/example/[^"]+)"', page)


def test_instructions_show_original_and_degraded_strips(browser, study):
    browser.post(browser.address("consent"))
    page = browser.text(browser.address("instructions"))
    found = pictures(page)
    assert len(found) == 8
    question = study.questions.get(key="cast")
    (changed,) = (n for n, is_changed, _of in question.example_shots if is_changed)
    assert f"Shot {changed} comes from another story." in page
    assert page.count("✗ another story") == 1
    assert "<strong>Original</strong>" in page
    assert "<strong>✗ Worse:</strong>" in page
    assert "Better" not in page
    alts = re.findall(r'alt="(Shot [^"]*)"', page)
    assert alts[:4] == [f"Shot {n}, original" for n in range(1, 5)]
    assert alts[4:] == [
        f"Shot {n}, made worse: another story"
        if n == changed
        else f"Shot {n}, unchanged in the worse copy"
        for n in range(1, 5)
    ]
    bodies = [browser.get(address) for address in found]
    assert {(one.status_code, one["Content-Type"]) for one in bodies} == {
        (200, "image/webp")
    }
    good, bad = bodies[:4], bodies[4:]
    differ = [a.content != b.content for a, b in zip(good, bad, strict=True)]
    assert differ == [n == changed for n in range(1, 5)]
    assert not {"ETag", "Last-Modified"} & set(bodies[0].headers)


@pytest.mark.slow
def test_video_examples_are_stills_of_each_shot(client, tmp_path):
    study = make_planned(
        ASKED, benchmark=make_drawn_reels(tmp_path, ["Alder"]), annotators=3
    )
    browser = Browser(client, study.annotators.get(name="A01"))
    browser.post(browser.address("consent"))
    found = pictures(browser.text(browser.address("instructions")))
    stills = [read_still(browser.get(address)) for address in found]
    question = study.questions.get(key="cast")
    (changed,) = (n for n, is_changed, _of in question.example_shots if is_changed)
    assert {one.shape for one in stills} == {(128, 192, 3)}
    for number, good, bad in zip((1, 2, 3), stills[:3], stills[3:], strict=True):
        top = (3 - number) * 32  # position of the square, which is higher in each shot
        column = good[:, 70:100].min(axis=(1, 2))
        assert (column[top + 6 : top + 26] < 35).all()
        assert (column[: max(0, top - 6)] > 35).all()
        apart = np.abs(good.astype(int) - bad).mean()
        assert (apart > 20) == (number == changed)
    missing = browser.get(browser.address("example", "1", "bad", "9"))
    assert missing.status_code == 404
    check = BlindingCheck(study)
    assert len(list(check.run())) > 0
    assert check.report.leaks == []


def read_still(response) -> np.ndarray:
    with Image.open(io.BytesIO(response.content)) as picture:
        return np.asarray(picture.convert("RGB"))


def test_example_pictures_require_consent_and_a_valid_link(browser, study, client):
    address = browser.address("example", "1", "bad", "1")
    assert browser.get(address)["Location"] == browser.address("entry")
    browser.post(browser.address("consent"))
    assert browser.get(address).status_code == 200
    kept = study.questions.get(key="cast")
    kept.example_shots = kept.example_shots[:3]
    kept.save()
    for wrong in (
        ("2", "bad", "1"),
        ("9", "good", "1"),
        ("1", "bad", "9"),
        ("1", "bad", "4"),
        ("1", "good", "4"),
    ):
        assert browser.get(browser.address("example", *wrong)).status_code == 404
    unknown = reverse("rate-example", args=["nobody", "1", "bad", "1"])
    assert client.get(unknown).status_code == 404
    study.state = "paused"
    study.save()
    assert browser.get(address).status_code == 403


@pytest.mark.slow
def test_examples_do_not_reveal_methods():
    study = make_planned(
        ASKED, benchmark=make_benchmark(stories=2, shots=2), annotators=1, redundancy=1
    )
    check = BlindingCheck(study)
    assert len(list(check.run())) > 0
    assert check.report.leaks == []
    seen = [
        a.address for a, _token in visit_pages(study, Seat(Counter())) if a.is_media
    ]
    assert len(seen) == 4
    assert all("/example/1/" in address for address in seen)


@pytest.mark.slow
def test_example_picture_that_names_its_method_is_a_leak(monkeypatch):
    benchmark = make_benchmark(stories=3, shots=4)
    study = make_planned(
        ASKED, benchmark=benchmark, stories=["01", "02"], annotators=3, redundancy=2
    )
    assert study.questions.get(key="cast").example.story.key == "03"
    send = media_files._send_shot

    def telling(request, output, number, *how):
        response = send(request, output, number, *how)
        response["X-Made-Of"] = output.method.name
        return response

    monkeypatch.setattr(media_files, "_send_shot", telling)
    check = BlindingCheck(study)
    list(check.run())
    found = " ".join(leak.where for leak in check.report.leaks)
    assert "in header X-Made-Of at /rate/…/example/1/good/1/" in found
