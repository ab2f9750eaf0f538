"""The data card of a bundle, as the Hugging Face Hub reads it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml
from django.db.models import Q

from analysis.options import AlignOptions
from annotate.bundles import tables
from annotate.kinds.registry import answer_tables
from annotate.models import Annotator, Exclusion, Purpose, Slot, Study
from annotate.reports import study_tables, table_schema
from annotate.studies import rewording

# Upper ends of the Hub's size categories.
SIZES = (("n<1K", 10**3), ("1K<n<10K", 10**4), ("10K<n<100K", 10**5))
LARGER = "100K<n<1M"
TAGS = ["human-evaluation", "story-visualization", "plumbline"]
LEFT_OUT = (
    "accounts, links, e-mail addresses, ids of crowd platforms, completion codes and "
    "pay of single people"
)
Counts = Mapping[str, int]


def card(study: Study, manifest: Mapping[str, Any], rows: Counts) -> str:
    """Return README.md; `rows` is the number of rows of each table in `parquet/`."""
    sections = {
        "": _about(study, manifest),
        "People": _people(study),
        "Answers": _answers(study, rows),
        "Agreement": _agreement(study),
        "Checks and exclusions": _checks(study),
        "Known limits": _limits(study, manifest),
        "How to read it": _reading(study, manifest, rows),
    }
    text = f"---\n{_front(study, manifest, rows)}---\n\n# {study.title}\n"
    for heading, lines in sections.items():
        text += f"\n## {heading}\n\n" if heading else "\n"
        text += "\n".join(lines) + "\n"
    return text


def _front(study: Study, manifest: Mapping[str, Any], rows: Counts) -> str:
    """Return the front matter: licence, languages, size, tables."""
    largest = max(rows.values(), default=0)
    size = next((name for name, below in SIZES if largest < below), LARGER)
    languages = {"en"} | study.consent.keys() | study.instructions.keys()
    configs: list[dict[str, Any]] = [
        {"config_name": name, "data_files": f"parquet/{name}.parquet"} for name in rows
    ]
    if configs:
        configs[0]["default"] = True
    told = {
        "license": manifest["license"] or "unknown",
        "pretty_name": study.title,
        "language": sorted(languages),
        "tags": TAGS,
        "size_categories": [size],
        "configs": configs,
    }
    text: str = yaml.safe_dump(told, sort_keys=False, allow_unicode=True)
    return text


def _about(study: Study, manifest: Mapping[str, Any]) -> Iterator[str]:
    units = study.units.filter(purpose=Purpose.REAL)
    moment = manifest["moment"]
    yield (
        f"Human ratings of {units.count():,} items: outputs of "
        f"{len(study.method_names)} methods for "
        f"{units.values('story').distinct().count()} stories of the benchmark "
        f"{study.benchmark.title}. Study `{study.slug}`, {study.get_state_display()}, "
        f"as of event {moment['event']} ({moment['at']}), exported by Plumbline "
        f"{manifest['plumbline']}."
    )
    yield ""
    yield f"Methods: {', '.join(study.method_names)}."


def _people(study: Study) -> Iterator[str]:
    people = study.annotators.exclude(state=Annotator.State.PLANNED)
    rated = people.filter(slots__submitted_at__isnull=False).distinct()
    yield f"- {people.count()} people were invited or joined; {rated.count()} rated."
    if programs := rated.filter(is_simulated=True).count():
        yield f"- {programs} of these are programs, not people."
    if study.training:
        failed = people.filter(state=Annotator.State.FAILED).count()
        yield f"- Training came first; {failed} did not pass it."
    if study.consent:
        yield (
            f"- All read a consent text (version {study.consent_version}, in "
            "`study.yaml`) and agreed."
        )
    else:
        yield "- The consent of these people is not recorded here."
    told = study.recruitment
    if told.get("platform"):
        yield f"- Recruited through {told['platform']}."
    if told.get("pay_per_hour"):
        yield f"- Advertised pay: {told['pay_per_hour']} {told['currency']} per hour."
    else:
        yield "- Their pay is not recorded here."


def _answers(study: Study, rows: Counts) -> Iterator[str]:
    slots = study.slots.filter(submitted_at__isnull=False)
    yield f"{slots.count():,} ratings were submitted. Tables:"
    yield ""
    for name, number in rows.items():
        meaning = tables.ROWS.get(name) or table_schema.ROWS.get(name, "")
        yield f"- `{name}` ({number:,} rows): {meaning}"
    yield ""
    yield "Questions:"
    yield ""
    for question in study.questions.all():
        ends = ""
        if question.scale_min is not None:
            ends = f", {question.scale_min} to {question.scale_max}"
        yield f"- `{question.key}` ({question.kind}{ends}): {question.text}"


def _agreement(study: Study) -> Iterator[str]:
    """Yield alpha of each question, as a report of the study has it."""
    from analysis.commands import alignment

    found = {
        name: study_tables.answers_frame(study, name)
        for name in answer_tables(study, only_counted=True)
        if name in ("ratings", "choices", "rankings")
    }
    found = {name: frame for name, frame in found.items() if len(frame)}
    if not found:
        yield "There are no answers yet."
        return
    options = AlignOptions(scales=study_tables.scales(study))
    table = alignment.agreement(**found, options=options).tables["agreement"]
    yield "With intervals of 95 %, resampled over items."
    yield ""
    yield "| question | statistic | value | interval |"
    yield "|---|---|---|---|"
    for row in table.dropna(subset=["value"]).to_dict("records"):
        interval = f"{row['low']:.2f} to {row['high']:.2f}"
        cells = (row["question"], row["statistic"], f"{row['value']:.2f}", interval)
        yield f"| {' | '.join(cells)} |"


def _checks(study: Study) -> Iterator[str]:
    closed = study.slots.filter(submitted_at__isnull=False)
    counts = Counter(closed.values_list("purpose", flat=True))
    for purpose in Purpose:
        if purpose != Purpose.REAL and counts[purpose]:
            yield f"- {purpose.label}: {counts[purpose]:,} ratings"
    excluded = Exclusion.objects.filter(slot__study=study, undone_at__isnull=True)
    reasons = Counter(excluded.values_list("rule", flat=True))
    yield f"- left out of the view `main`: {sum(reasons.values()):,} ratings"
    for rule, number in sorted(reasons.items()):
        yield f"  - {rule or 'by hand'}: {number:,}"
    views = ", ".join(f"`{view.key}`" for view in study.analysis_views.all())
    yield f"- views: {views}"


def _limits(study: Study, manifest: Mapping[str, Any]) -> Iterator[str]:
    yield f"- Left out: {LEFT_OUT}. People have pseudonyms."
    yield "- Comments are as people wrote them; read them before you publish them."
    if not manifest["pictures"]:
        yield "- Pictures and videos are left out."
    if not manifest["license"]:
        yield "- The licence is not declared."
    if study.state != Study.State.CLOSED:
        yield "- The study was not closed when it was exported."
    unfinished = Q(state__in=(Slot.State.OPEN, Slot.State.LEASED))
    if missing := study.slots.filter(unfinished, ordinal__isnull=False).count():
        yield f"- {missing:,} planned ratings are missing."
    for version in rewording.text_versions(study)[1:]:
        names = ", ".join(one.name for one in version.corrections)
        yield f"- Texts were corrected on {version.since:%Y-%m-%d}: {names}."


def _reading(study: Study, manifest: Mapping[str, Any], rows: Counts) -> Sequence[str]:
    first = next(iter(rows), "ratings")
    return [
        f"- Python: `pandas.read_parquet('parquet/{first}.parquet')`; "
        "`croissant.json` describes the same tables.",
        "- Any program: `tables/*.csv`, whose columns `tables/datapackage.json` "
        "describes (frictionless). `excluded` marks answers that the view `main` "
        "leaves out; `views/` has the answers of the other views.",
        "- `stories.jsonl` has the stories, `study.yaml` the questions, `media/` the "
        "pictures by their SHA-256.",
        f"- Report: `plumbline align {study.slug}.zip --out report/`.",
        f"- The whole study on a server: `plumbline import {study.slug}.zip`, "
        "which reads `rows/`, one file a table of the database.",
        "- `manifest.json` has the SHA-256 of every file.",
    ]
