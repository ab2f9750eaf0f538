"""The command `late-entry`."""

import pandas as pd

from analysis.__main__ import main
from tests.analysis.rankings.test_late_entry import AFTER, BEFORE


def test_command_places_a_late_method(tmp_path, capsys):
    for name, table in (("before", BEFORE), ("after", AFTER)):
        table.assign(dimension="look").to_csv(tmp_path / f"{name}.csv", index=False)
    before, after = (str(tmp_path / f"{name}.csv") for name in ("before", "after"))
    out = tmp_path / "late"
    given = ["late-entry", before, after, "--out", str(out), "--images", "none"]
    assert main([*given, "--method", "C"]) == 0
    row = pd.read_csv(out / "tables" / "late_methods.csv").iloc[0]
    assert (row["value"], row["n_linking"]) == (3.5, 2)
    assert main([*given, "--method", "D"]) == 2
    assert "expected one of C, which the first lacks" in capsys.readouterr().err
