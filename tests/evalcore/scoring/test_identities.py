"""Identities of scores: other weights, precisions and judges are missing work."""

import json
import struct
from hashlib import sha256
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from evalcore.metrics import identity, registry
from evalcore.metrics.base import MetricInfo, Value
from evalcore.metrics.encoders.precision import precision
from evalcore.metrics.identity import Identity, from_label, parts_of
from evalcore.metrics.weights import VARIABLE, Weights, requires
from evalcore.models import (
    Method,
    MetricAbsence,
    MetricChunk,
    MetricScore,
    Output,
    ScoreIdentity,
    Story,
)
from evalcore.scoring import identities, metric_runs, score_rows
from tests.evalcore.metrics.llm_judge.serving import answers, raw, reply, serving
from tests.factories import make_benchmark

pytestmark = pytest.mark.django_db


class Scale:
    """A metric whose only weight is its value, rounded as bf16 rounds."""

    info = MetricInfo(
        name="scale",
        title="Scale",
        family="stand-in",
        scores="output",
        source="this test",
        measures="Nothing.",
        backend="one number",
    )
    weights = (Weights("scale.txt", licence="none"),)
    missing = requires((), weights)

    def score(self, _rendering):
        yield from ()
        number = float(self.weights[0].need().read_text())
        if precision() == "bf16":
            (bits,) = struct.unpack(">I", struct.pack(">f", number))
            kept = struct.pack(">I", (bits + 0x8000) & 0xFFFF0000)
            (number,) = struct.unpack(">f", kept)
        return [Value(number)]


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """Return the file of a metric's weights, and three outputs to score."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setitem(registry.METRICS, "scale", registry.Entry(Scale))
    monkeypatch.setattr(identity, "_read", {})
    registry.load.cache_clear()
    path = tmp_path / "scale.txt"
    path.write_text("0.1")
    yield path
    registry.load.cache_clear()


@pytest.fixture
def benchmark():
    return make_benchmark(stories=1, shots=1)


def compute(benchmark, *names):
    return metric_runs.run(metric_runs.queue_run(benchmark, names).pk)


def values(**of):
    rows = MetricScore.objects.filter(**of)
    return sorted(rows.values_list("identity__precision", "value"))


def restart():
    """Forget which files were read, as a new process does."""
    identity._read.clear()


def test_other_weights_are_missing_work_and_old_values_stay(weights, benchmark):
    assert compute(benchmark, "scale").done == 3
    assert compute(benchmark, "scale").total == 0
    weights.write_text("0.25")
    run = compute(benchmark, "scale")
    assert "scale.txt was replaced while this worker ran: restart" in run.error
    restart()
    assert compute(benchmark, "scale").done == 3
    assert values() == [("fp32", 0.1)] * 3 + [("fp32", 0.25)] * 3
    one, other = ScoreIdentity.objects.order_by("pk")
    assert one.files == {"weights": {"scale.txt": sha256(b"0.1").hexdigest()}}
    assert one.weights != other.weights
    weights.write_text("0.1")
    restart()
    assert compute(benchmark, "scale").total == 0


def test_other_precision_is_missing_work(weights, benchmark, monkeypatch):
    compute(benchmark, "scale")
    monkeypatch.setenv("EVALCORE_PRECISION", "bf16")
    compute(benchmark, "scale", "sharpness")
    # 0.1 is 0x3dcccccd; the nearest with 16 bits is 0x3dcd.
    bf16 = 0.10009765625
    assert values(metric="scale") == [("bf16", bf16)] * 3 + [("fp32", 0.1)] * 3
    assert {said for said, _value in values(metric="sharpness")} == {""}


def test_machine_without_weights_leaves_the_decision_to_a_worker(
    weights, benchmark, monkeypatch, tmp_path_factory
):
    compute(benchmark, "scale")
    weights.write_text("0.25")
    restart()
    monkeypatch.setenv(VARIABLE, str(tmp_path_factory.mktemp("none")))
    run = metric_runs.queue_run(benchmark, ["scale"])
    metric_runs.plan(run)
    run.refresh_from_db()
    assert (run.total, len(MetricChunk.objects.get(run=run).outputs)) == (0, 3)
    monkeypatch.setenv(VARIABLE, str(weights.parent))
    run = metric_runs.run(run.pk)
    assert (run.state, run.total, run.done) == ("done", 3, 3)
    assert values() == [("fp32", 0.1)] * 3 + [("fp32", 0.25)] * 3


def test_other_judge_and_other_settings_are_missing_work(benchmark, monkeypatch):
    with serving() as server:
        server.then = answers("Score: 3")
        monkeypatch.setenv("JUDGE_BASE_URL", server.base_url)
        for name in ("judge-a", "judge-b"):
            monkeypatch.setenv("JUDGE_NAME", name)
            registry.load.cache_clear()
            assert compute(benchmark, "pa_scene").done == 3
            assert compute(benchmark, "pa_scene").total == 0
        other = server.base_url.replace("127.0.0.1", "localhost")
        monkeypatch.setenv("JUDGE_BASE_URL", other)
        assert compute(benchmark, "pa_scene").done == 3
    registry.load.cache_clear()
    found = ScoreIdentity.objects.order_by("pk")
    assert [one.judge for one in found] == ["judge-a", "judge-b", "judge-b"]
    assert len({one.settings for one in found}) == 2
    assert all(one.files["prompts"] for one in found)


def test_output_has_one_value_however_the_judge_answered(benchmark):
    output = Output.objects.select_related("story").first()
    asked = Identity("pa_scene", "1", judge="judge-a")
    metric = registry.load("sharpness")
    wanted = score_rows.WantedMetric(
        "pa_scene", metric, "1", asked=asked.asked, identity=asked
    )
    run = metric_runs.queue_run(benchmark, ["sharpness"])
    for names, value in (({"2026-02", "2026-01"}, 1.0), ({"2026-03"}, 2.0)):
        scored = score_rows.ScoredOutput(
            wanted,
            output.method_id,
            output.story_id,
            [Value(value)],
            frozenset(names),
        )
        score_rows.store(run, [scored])
    row = MetricScore.objects.get()
    assert (row.judge_version, row.value) == ("2026-01 + 2026-02", 1.0)
    answered = identities.Identities().of_row(row)
    assert answered.key != answered.asked == row.identity.key


def test_answering_model_makes_an_identity_and_its_server_does_not(
    benchmark, monkeypatch
):
    with serving() as server:
        for model, print_ in (("owl-1", "fp_2"), ("owl-1", "fp_1"), ("owl-2", "fp_1")):
            said = {"model": model, "system_fingerprint": print_}
            body = json.dumps(reply("Score: 3") | said).encode()
            server.script.append(raw(body))
        monkeypatch.setenv("JUDGE_BASE_URL", server.base_url)
        monkeypatch.setenv("JUDGE_NAME", "owl")
        registry.load.cache_clear()
        assert compute(benchmark, "pa_scene").done == 3
    registry.load.cache_clear()
    versions = MetricScore.objects.values_list("judge_version", flat=True)
    assert sorted(versions) == ["owl-1", "owl-1", "owl-2"]
    chunk = MetricChunk.objects.get(queue="judge")
    assert chunk.environment["system_fingerprints"] == ["fp_1", "fp_2"]


def test_table_is_imported_and_exported_without_a_change(
    weights, benchmark, tmp_path, monkeypatch
):
    compute(benchmark, "scale", "sharpness")
    monkeypatch.setenv("EVALCORE_PRECISION", "bf16")
    compute(benchmark, "scale")
    MetricScore.objects.filter(metric="sharpness").update(judge_version="=1+1; 狐狸")
    first, second = tmp_path / "first", tmp_path / "second"
    call_command("export_scores", "woods", first, format="table")
    for table in (MetricScore, ScoreIdentity, Output, Story, Method):
        table.objects.all().delete()
    arguments = {"benchmark": "woods", "create": True}
    call_command("import_scores", first / "scores.csv", **arguments)
    call_command("export_scores", "woods", second, format="table")
    for name in ("scores.csv", "score_identities.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    text = (second / "score_identities.json").read_text()
    assert sha256(b"0.1").hexdigest() in text
    # What was imported is what this machine would compute.
    assert ScoreIdentity.objects.filter(key__in=_asked("scale")).count() == 1


def _asked(name):
    metrics = score_rows.metrics_of([name], {})
    return [one.asked for one in score_rows.identified(metrics)]


@pytest.mark.parametrize(
    ("column", "cell", "expected"),
    [
        ("precision", "bf16", "identity: {key}: expected"),
        ("computed_at", "yesterday", "computed_at: yesterday: expected a time"),
    ],
)
def test_changed_table_is_refused(weights, benchmark, tmp_path, column, cell, expected):
    compute(benchmark, "scale")
    call_command("export_scores", "woods", tmp_path, format="table")
    path = tmp_path / "scores.csv"
    header, *rows = path.read_text().splitlines()
    place = header.split(",").index(column)
    cells = rows[0].split(",")
    key = cells[header.split(",").index("identity")]
    cells[place] = cell
    path.write_text("\n".join([header, ",".join(cells), *rows[1:]]) + "\n")
    MetricScore.objects.all().delete()
    with pytest.raises(CommandError, match=expected.format(key=key)):
        call_command("import_scores", path, benchmark="woods")
    assert not MetricScore.objects.exists()


def test_missing_values_of_another_judge_do_not_stop_an_export(benchmark, tmp_path):
    outputs = Output.objects.select_related("story", "method")
    run = metric_runs.queue_run(benchmark, ["sharpness"])

    def place(output, judge):
        made_by = Identity("pa_scene", "1", judge=judge)
        return {
            "run": run,
            "benchmark": benchmark,
            "method": output.method,
            "story": output.story,
            "identity_id": identities.store(made_by),
            **identities.columns_of(made_by),
        }

    for output in outputs:
        MetricAbsence.objects.create(**place(output, "broken"), reason="no answer")
        MetricScore.objects.create(**place(output, "mended"), value=3.0)
    call_command("export_scores", "woods", tmp_path / "a", format="vistorybench")
    told = "".join(p.read_text() for p in (tmp_path / "a").rglob("*.json"))
    assert "mended" in told
    assert "broken" not in told
    for output in outputs:
        MetricScore.objects.create(**place(output, "third"), value=4.0)
    arguments = ("export_scores", "woods", tmp_path / "b")
    with pytest.raises(CommandError, match="expected one identity") as refused:
        call_command(*arguments, format="vistorybench")
    key = Identity("pa_scene", "1", judge="third").key
    assert f"{key}: 1, third" in str(refused.value)
    call_command(*arguments, format="vistorybench", identity=key[:6])
    assert "third" in (tmp_path / "b/score_identities.json").read_text()


@pytest.mark.postgresql
def test_old_rows_get_the_identity_that_their_version_gives(benchmark):
    labels = [
        ("cids_self", "2 vsb-code-2026.02", "CLIP"),
        ("fid", "1 storybench-code against odd; 100 %", "Inception"),
        ("fid", "96x160", ""),
        ("occm", "vsb-code 20260201_120000", "vistorybench"),
        ("sharpness", "2", "numpy"),
    ]
    run = metric_runs.queue_run(benchmark, ["sharpness"])
    story, method = Story.objects.get(), Method.objects.first()
    for metric, version, backend in labels:
        MetricScore.objects.create(
            run=run,
            benchmark=benchmark,
            method=method,
            story=story,
            metric=metric,
            metric_version=version,
            backend=backend,
            value=1.0,
        )
    migration = import_module("evalcore.migrations.0003_score_identity")
    with connection.cursor() as cursor:
        editor = SimpleNamespace(connection=connection, execute=cursor.execute)
        migration.name_identities(apps, editor)
    known = identities.Identities()
    for row in MetricScore.objects.all():
        label = row.metric, row.metric_version, row.backend
        assert row.identity.key == from_label(*label).key
        assert known.of_row(row) == from_label(*label)
        assert known.of_row(row).label == row.metric_version
    # A formula has no weights: what this version computes is the same.
    assert compute(benchmark, "sharpness").total == 2


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("2 vsb-paper", {"version": "2", "profile": "vsb-paper"}),
        ("1 against the truth", {"version": "1", "truth": "the truth"}),
        (
            "1 vsb-paper against Oak repeat 12",
            {"version": "1", "profile": "vsb-paper", "truth": "Oak", "repeat": "12"},
        ),
        ("", {}),
    ],
)
def test_label_has_parts_of_an_identity(label, parts):
    assert parts_of(label) == parts
    assert from_label("fid", label, "").label == label
