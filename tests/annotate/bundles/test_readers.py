"""Bundles are read without a server: by `analysis` and by others' programs."""

import json
import zipfile

import frictionless
import pandas as pd
import pytest
import yaml

from analysis.__main__ import main
from analysis.options import AlignOptions
from annotate.audit_log import as_of_event
from annotate.bundles import exporting
from annotate.reports.writing import write_study_report
from tests.annotate.bundles.studies import answered, with_everything

pytestmark = pytest.mark.django_db


def tables_of(folder):
    return {path.name: path.read_bytes() for path in folder.glob("tables/*.csv")}


CASES = [
    pytest.param(
        kind,
        view,
        id=f"{kind}-{view}",
        marks=[] if (kind, view) == ("composites", "strict") else pytest.mark.slow,
    )
    for kind in ("likert", "choice", "checklist", "ranking", "composites")
    for view in ("main", "strict")
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "view"), CASES)
def test_align_has_the_numbers_of_the_server(kind, view, tmp_path):
    study = answered(kind)
    exporting.write_bundle(study, tmp_path / "trial.zip")
    moment = as_of_event.now(study)
    options = AlignOptions(resamples=20)
    write_study_report(
        study, moment=moment, options=options, view=view, out=tmp_path / "server"
    )
    arguments = ["--resamples", "20", "--images", "none", "--view", view]
    path, out = str(tmp_path / "trial.zip"), str(tmp_path / "own")
    assert main(["align", path, *arguments, "--out", out]) == 0
    server, own = tables_of(tmp_path / "server"), tables_of(tmp_path / "own")
    assert server.keys() == own.keys()
    # People without answers, and rules that exclude, are known on the server alone.
    others = {name for name in server if server[name] != own[name]}
    assert others == {"run.csv", "sample_flow.csv"}
    assert study.title in (tmp_path / "own/report.html").read_text()


@pytest.mark.slow
def test_further_commands_read_bundles(tmp_path, capsys):
    exporting.write_bundle(answered("choice"), tmp_path / "trial.zip")
    path = str(tmp_path / "trial.zip")
    for command in ("agreement", "leaderboard"):
        out = str(tmp_path / command)
        options = ["--resamples", "0", "--images", "none", "--out", out]
        assert main([command, path, *options]) == 0
    assert main(["agreement", path, "--view", "absent", "--out", out]) == 2
    assert "main, everything, strict" in capsys.readouterr().err


@pytest.mark.slow
def test_others_read_tables_and_pictures(tmp_path):
    exporting.write_bundle(
        with_everything(), tmp_path / "trial.zip", license="cc-by-4.0"
    )
    with zipfile.ZipFile(tmp_path / "trial.zip") as packed:
        packed.extractall(tmp_path / "trial")
    folder = tmp_path / "trial"
    import mlcroissant  # takes seconds to load

    found = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not found.metadata.issues.errors
    rows = pd.DataFrame(found.records("ratings"))
    assert {*rows["ratings/story"]} == {b"01", b"02", b"03", b"04"}
    own = pd.read_parquet(folder / "parquet/ratings.parquet")
    assert [*rows["ratings/rating"]] == [*own["rating"]]
    picture = next(iter(found.records("images")))
    assert picture["images/image"].size == (96, 64)
    assert next(iter(found.records("twins")))["twins/twin"] == b"blurred"
    report = frictionless.validate(str(folder / "tables/datapackage.json"))
    assert report.valid, report.flatten(["message"])
    front = yaml.safe_load((folder / "README.md").read_text().split("---")[1])
    assert front["license"] == "cc-by-4.0"
    assert front["configs"][0]["data_files"] == "parquet/ratings.parquet"
    stories = (folder / "stories.jsonl").read_text().splitlines()
    assert json.loads(stories[0])["shots"][0]["text"]["en"]["plot"] == "Fox walks 1"
