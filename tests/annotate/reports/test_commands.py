"""Commands that write files: errors for unusable folders."""

import pytest
from django.core.management import CommandError, call_command

from tests.factories import METHODS, make_study
from tests.people import answer_everything

pytestmark = pytest.mark.django_db


@pytest.fixture
def scored_study(tmp_path):
    study = make_study()
    answer_everything(study)
    scores = tmp_path / "scores.csv"
    rows = [f"{story},{m},fid,{len(m)}" for story in ("01", "02") for m in METHODS]
    scores.write_text("\n".join(["story,method,metric,score", *rows]))
    call_command("import_scores", scores, benchmark=study.benchmark.slug)
    return study


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "options"), [("export_study", {}), ("report", {"resamples": 0})]
)
def test_export_folder_is_refused_when_it_is_a_file(
    tmp_path, scored_study, command, options
):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(CommandError, match=r"(expected|Choose) a folder") as caught:
        call_command(command, scored_study.slug, out=taken, **options)
    assert caught.value.returncode == 2
    assert taken.read_text() == "mine"
