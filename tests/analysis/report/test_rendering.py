"""Figures as files: reproducible and valid, also without a browser."""

import xml.etree.ElementTree as ET

import pandas as pd
import pytest

from analysis.report import rendering
from analysis.report.sections import all_figures

NAMES = ["<b>x</b>", "A & B", "方法"]


def means_of(*questions):
    return all_figures(
        {
            "method_means": pd.DataFrame(
                {
                    "dimension": [q for q in questions for _ in NAMES],
                    "method": NAMES * len(questions),
                    "mean": [1.0, 2.0, 3.0] * len(questions),
                    "low": 0.5,
                    "high": 3.5,
                }
            )
        },
        pd.DataFrame(columns=["question"]),
    )


@pytest.fixture
def drawn():
    return means_of("q\N{NO-BREAK SPACE}&", "<r>")


@pytest.mark.browser
def test_two_runs_are_identical_and_names_are_text(drawn, tmp_path):
    if rendering.browser() is None:
        pytest.skip("needs Chromium")
    notes = [rendering.write_images(drawn, tmp_path / f, "svg") for f in ("a", "b")]
    assert notes == ["All figures are in figures/ as SVG."] * 2
    first, second = ((tmp_path / f / "means.svg").read_bytes() for f in ("a", "b"))
    assert first == second
    text = "".join(ET.fromstring(first).itertext())
    for name in [*NAMES, "q\N{NO-BREAK SPACE}&", "<r>"]:
        assert name in text
    ids = [e.get("id") for e in ET.fromstring(first).iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    assert "clip" in "".join(ids)


def test_order_of_attributes_does_not_matter():
    either = '<svg><rect x="1" y="2"/></svg>', '<svg><rect y="2" x="1"/></svg>'
    first, second = map(rendering.file_content, either)
    assert first == second == b'<svg><rect x="1" y="2"></rect></svg>\n'


@pytest.mark.slow
@pytest.mark.browser
def test_png_is_a_picture(drawn, tmp_path):
    if rendering.browser() is None:
        pytest.skip("needs Chromium")
    rendering.write_images(drawn, tmp_path / "figures", "png")
    assert (tmp_path / "figures/means.png").read_bytes().startswith(b"\x89PNG")


def test_page_reports_missing_chromium(drawn, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    note = rendering.write_images(drawn, tmp_path / "figures", "svg")
    assert "Chromium was not found" in note
    assert not (tmp_path / "figures").exists()


@pytest.mark.parametrize("script", ["exit 1", "echo '<pre id=\"images\"></pre>'"])
def test_failing_browser_is_reported_and_leaves_no_files(
    drawn, tmp_path, monkeypatch, script
):
    fake = tmp_path / "chromium"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(rendering, "browser", lambda: str(fake))
    note = rendering.write_images(drawn, tmp_path / "figures", "svg")
    assert "Chromium did not draw them" in note
    assert not (tmp_path / "figures").exists()


def test_older_images_are_removed_and_other_files_kept(tmp_path):
    folder = tmp_path / "figures"
    folder.mkdir()
    for name in ("forest.svg", "scatter-12.png", "forest.txt", "mine.svg"):
        (folder / name).touch()
    rendering.remove_images(tmp_path)
    assert len(list(folder.iterdir())) == 4
    page = '<figure id="figure-forest"><figure id="figure-scatter-12" class="whole">'
    (tmp_path / "report.html").write_text(page)
    rendering.remove_images(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["forest.txt", "mine.svg"]
    for path in folder.iterdir():
        path.unlink()
    rendering.remove_images(tmp_path)
    assert not folder.exists()
