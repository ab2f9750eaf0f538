"""Every command, given every wrong kind of file, says so in one line."""

import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.commands.planning import stability
from analysis.options import AlignOptions, OptionError

TABLES = {
    "ratings": "story,method,dimension,annotator,rating\ns,m,q,a,1\ns,n,q,a,2\n",
    "choices": "story,method_a,method_b,criterion,annotator,choice\n"
    "s,m,n,q,a,tie\ns,m,n,q,b,a\n",
    "rankings": "story,method,criterion,annotator,rank\ns,m,q,a,1\ns,n,q,a,2\n"
    "s,m,q,b,2\ns,n,q,b,1\n",
    "scores": "story,method,metric,score\ns,m,k,1\ns,n,k,2\n",
    "stories": "story,split\ns,lite\nt,full\n",
    "empty": "",
    "numbers": "1,2,3\n4,5,6\n",
}
# What each option of a command takes, and what else the command needs.
OPTIONS = [
    ("align", "ratings", "ratings", ["scores"]),
    ("align", "choices", "choices", ["scores"]),
    ("align", "rankings", "rankings", ["scores"]),
    ("align", "scores", "scores", ["ratings"]),
    ("align", "stories", "stories", ["ratings", "scores"]),
    ("align", "twins", "twins", ["ratings", "scores"]),
    ("align", "composites", "composites", ["ratings", "scores"]),
    ("agreement", "ratings", "ratings", []),
    ("agreement", "choices", "choices", []),
    ("agreement", "rankings", "rankings", []),
    ("leaderboard", "choices", "choices", []),
    ("leaderboard", "rankings", "rankings", []),
    ("power", "ratings", "ratings", []),
    ("power", "scores", "scores", ["ratings"]),
    ("subset", "scores", "scores", []),
    ("subset", "ratings", "ratings", []),
    ("subset", "subset", "scores", ["scores"]),
    ("subset", "stories", "stories", ["scores"]),
    ("stability", "ratings", "ratings", []),
    ("stability", "people", "ratings", ["ratings"]),
]
NEVER_WIDE = ("agreement", "leaderboard")


@pytest.fixture
def folder(tmp_path):
    for name, text in TABLES.items():
        (tmp_path / f"{name}.csv").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "option", "kind", "beside", "wide"),
    [
        pytest.param(*row, wide, marks=pytest.mark.slow if wide and row[3] else ())
        for row in OPTIONS
        for wide in (False, True)
        if not (wide and row[0] in NEVER_WIDE)
    ],
)
def test_wrong_file_is_named(folder, capsys, command, option, kind, beside, wide):
    for wrong in TABLES.keys() - {kind}:
        path = folder / f"{wrong}.csv"
        given = [f"--{option}", str(path), "--out", str(folder / "out")]
        for name in beside:
            given += [f"--{name}", str(folder / f"{name}.csv")]
        if option == "stories" and command == "subset":
            given += ["--tag", "split", "--value", "lite"]
        assert main([command, *given, *["--wide"] * wide]) == 2, wrong
        told = capsys.readouterr().err
        assert told.startswith(f"{wrong}.csv:") or wide, told
        assert ": expected " in told
        assert not (folder / "out").exists()


def test_choices_are_no_trials_of_a_judge():
    choices = pd.DataFrame([{"story": "s", "criterion": "q", "choice": "a"}])
    with pytest.raises(OptionError, match="expected a column 'dimension'; found story"):
        stability(trials=choices, ratings=None, options=AlignOptions(resamples=0))
