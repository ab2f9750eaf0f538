"""The commands power, subset and stability, from files to tables."""

import numpy as np
import pandas as pd
import pytest

from analysis.__main__ import main


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    rows, scores = [], []
    for s in range(12):
        for m in range(6):
            quality = m / 2 + 0.4 * rng.normal()
            key = (f"s{s:02}", f"m{m}")
            for name in "xyz":
                rating = int(np.clip(round(quality + 0.5 * rng.normal()), 0, 4))
                rows.append((*key, "look", name, rating))
            scores.append((*key, "cids", quality + 0.3 * rng.normal()))
    columns = ["story", "method", "dimension", "annotator", "rating"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "ratings.csv", index=False)
    table = pd.DataFrame(scores, columns=["story", "method", "metric", "score"])
    table.to_csv(tmp_path / "scores.csv", index=False)
    table.assign(score=table["score"] + 0.05 * rng.normal(size=len(table))).to_csv(
        tmp_path / "again.csv", index=False
    )
    trials = pd.DataFrame(
        [
            (*key[:2], "look", "judge", k, round(4 - key[3] + 0.1 * rng.normal(), 3))
            for key in scores
            for k in (1, 2, 3)
        ],
        columns=["story", "method", "dimension", "annotator", "round", "rating"],
    )
    trials.to_csv(tmp_path / "trials.csv", index=False)
    tags = pd.DataFrame({"story": [f"s{s:02}" for s in range(12)]})
    tags.assign(part=["lite"] * 5 + ["rest"] * 7).to_csv(
        tmp_path / "tags.csv", index=False
    )
    return tmp_path


def run(files, *given):
    common = ["--out", files / "out", "--resamples", "30", "--images", "none"]
    return main([*map(str, [*given, *common])])


def table(files, name):
    return pd.read_csv(files / "out/tables" / f"{name}.csv")


@pytest.mark.slow
def test_power_works(files):
    ratings, scores = files / "ratings.csv", files / "scores.csv"
    assert run(files, "power", "--ratings", ratings, "--scores", scores) == 0
    power = table(files, "power")
    assert set(power["grows"]) == {"annotators", "stories", "methods"}
    gap = power[(power["statistic"] == "gap") & (power["grows"] == "stories")]
    widths = gap.sort_values("n_stories")["half_width"].to_numpy()
    assert (np.diff(widths) < 0).all()  # more stories, narrower
    assert set(table(files, "needed")["target"]) >= {0.05}
    assert {"method", "story"} <= set(table(files, "variance")["component"])


def test_power_takes_a_target_and_refuses_a_senseless_one(files, capsys):
    ratings = files / "ratings.csv"
    assert run(files, "power", "--ratings", ratings, "--target", "0.2") == 0
    assert 0.2 in set(table(files, "needed")["target"])
    with pytest.raises(SystemExit):
        run(files, "power", "--ratings", ratings, "--target", "0")
    assert "between 0 and 1" in capsys.readouterr().err


def test_subset_is_named_by_a_tag(files):
    assert (
        run(
            files,
            "subset",
            "--scores",
            files / "scores.csv",
            "--stories",
            files / "tags.csv",
            "--tag",
            "part",
            "--value",
            "lite",
            "--sizes",
            "4,6",
        )
        == 0
    )
    found = table(files, "subset")
    assert set(found["subset"]) == {"lite"}
    scores = pd.read_csv(files / "scores.csv")
    lite = scores[scores["story"] < "s05"]
    means = found.set_index("statistic")["value"]
    assert means["mean_full"] == pytest.approx(scores["score"].mean())
    assert means["mean_subset"] == pytest.approx(lite["score"].mean())
    percent = 100 * (lite["score"].mean() / scores["score"].mean() - 1)
    assert means["difference_percent"] == pytest.approx(percent)
    assert set(table(files, "best_subset")["size"]) == {4, 6}
    assert table(files, "subset_stories").groupby("size").size().to_dict() == {
        4: 4,
        6: 6,
    }


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "--scores, --ratings: expected one of them"),
        (["--stories", "tags.csv", "--tag", "x"], "--tag: 'x': expected part"),
        (
            ["--stories", "tags.csv", "--tag", "part", "--value", "x"],
            "--value: 'x': expected one of lite, rest",
        ),
        (["--stories", "tags.csv"], "--tag: None: expected part"),
        (
            ["--stories", "tags.csv", "--subset", "scores.csv"],
            "--subset, --stories: expected one of them",
        ),
        (["--sizes", "0,5"], "--sizes: 0: expected whole numbers from 1"),
        (["--method-column", "m"], "--method-column: expected --wide beside it"),
    ],
)
def test_subsets_that_are_none_are_refused(files, capsys, given, says):
    names = [files / x if x.endswith(".csv") else x for x in given]
    scores = ["--scores", files / "scores.csv"] if given else []
    assert run(files, "subset", *scores, *names) == 2
    assert says in capsys.readouterr().err
    assert not (files / "out").exists()


def test_stability_of_a_judge_and_its_agreement_with_people(files):
    assert (
        run(
            files,
            "stability",
            "--ratings",
            files / "trials.csv",
            "--people",
            files / "ratings.csv",
        )
        == 0
    )
    trials = pd.read_csv(files / "trials.csv")
    found = table(files, "stability")
    of_all = found[(found["method"] == "m0") & (found["statistic"] == "mean")]
    expected = trials.loc[trials["method"] == "m0", "rating"].mean()
    assert of_all["value"].tolist() == pytest.approx([expected])
    judges = table(files, "judges")
    assert set(judges["metric_a"]) == {"people"}
    assert (judges["value"] < -0.3).all()  # this judge has it the wrong way round


def test_files_of_one_name_are_called_by_their_folders(files):
    (files / "later").mkdir()
    (files / "again.csv").rename(files / "later/scores.csv")
    both = [files / "scores.csv", files / "later/scores.csv"]
    assert run(files, "score-agreement", *both) == 0
    named = table(files, "score_agreement")
    assert set(named["identity_a"]) == {f"{files.name}/scores"}
    assert set(named["identity_b"]) == {"later/scores"}


def test_subset_of_another_identity_is_refused(files, capsys):
    scores = pd.read_csv(files / "scores.csv")
    scores.assign(precision="fp32").to_csv(files / "fp32.csv", index=False)
    scores[:30].assign(precision="bf16").to_csv(files / "bf16.csv", index=False)
    given = ["--scores", files / "fp32.csv", "--subset", files / "bf16.csv"]
    assert run(files, "subset", *given, "--sizes", "4") == 2
    assert "They differ in precision: fp32 / bf16" in capsys.readouterr().err
    assert run(files, "subset", *given, "--sizes", "4", "--mix-identities") == 0
