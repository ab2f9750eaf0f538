import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from analysis.commands.arguments import (
    ALIGNMENT,
    RESAMPLING,
    add,
    add_figures,
    counts,
    share,
    split_names,
)
from analysis.options import AlignOptions, OptionError
from analysis.problems import InputError
from annotate.audit_log import as_of_event
from annotate.audit_log.as_of_event import MomentError
from annotate.management import WritingCommand
from annotate.models import MAIN, Study
from annotate.reports import study_scores
from annotate.reports.study_analyses import FURTHER, ReportError
from annotate.reports.writing import write_study_report


class Command(WritingCommand):
    refused = (ReportError, InputError, OptionError, MomentError)
    help = (
        "Write a report of a study. Example: report pilot --out report/. A plan: "
        "report pilot --kind power --target 0.1 --out plan/. "
        "Numbers of an earlier report again: report pilot --out again/ --view main "
        "--as-of 1234"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--view", default=MAIN, help="analysis view; default main")
        parser.add_argument(
            "--as-of", type=int, help="event of the study's log; default now"
        )
        parser.add_argument(
            "--hypotheses",
            type=Path,
            help="instead of what the study declares: columns question, metric; an "
            "empty file declares nothing",
        )
        parser.add_argument(
            "--composites",
            type=Path,
            help="instead of those of the study; .yaml or .json; an empty file: none",
        )
        parser.add_argument(
            "--kind",
            choices=list(FURTHER),
            default="align",
            help="which command of the analysis; default align",
        )
        parser.add_argument(
            "--target", type=share, help="of power: half-width that is asked for"
        )
        parser.add_argument(
            "--sizes", type=counts, metavar="5,10", help="of subset: numbers of stories"
        )
        parser.add_argument("--tag", help="of subset: the tag that names its stories")
        parser.add_argument("--value", help="of subset: the value of that tag")
        parser.add_argument(
            "--judges",
            type=split_names,
            metavar='"A,B"',
            help="of stability: annotators whose rounds are trials",
        )
        add(parser, ALIGNMENT)
        add(parser, RESAMPLING)
        add_figures(parser)

    def work(
        self,
        study: Study,
        *,
        out: Path,
        images: str,
        view: str,
        as_of: int | None,
        kind: str = "align",
        hypotheses: Path | None = None,
        composites: Path | None = None,
        **given: Any,
    ) -> None:
        known = list(study.analysis_views.values_list("key", flat=True))
        if view not in known:
            raise _refusal("view", f"{view!r}: expected one of {', '.join(known)}")
        files = _files(kind, hypotheses=hypotheses, composites=composites)
        further = _further(kind, given)
        if as_of is None and (missing := study_scores.missing_now(study)):
            self.stderr.write(
                "note: scores are being computed; this report lacks, wholly or partly, "
                f"{', '.join(missing)}"
            )
        names = [field.name for field in fields(AlignOptions)]
        options = AlignOptions(**{n: given[n] for n in names if n in given})
        with tqdm(bar_format="{desc} {elapsed}", disable=None) as bar:
            if as_of is None:
                moment = as_of_event.now(study)
            else:
                moment = as_of_event.moment(study, as_of)
            page = write_study_report(
                study,
                view=view,
                moment=moment,
                options=options,
                out=out,
                command=kind,
                further=further,
                files=files,
                images="" if images == "none" else images,
                progress=bar.set_description_str,
            )
        self.stdout.write(str(page))


def _refusal(option: str, text: str) -> CommandError:
    return CommandError(f"--{option}: {text}", returncode=2)


def _files(kind: str, **given: Path | None) -> dict[str, Path]:
    """Return the files that are given, by their options."""
    files = {name: path for name, path in given.items() if path is not None}
    for name, path in sorted(files.items()):
        if not path.is_file():
            raise _refusal(name, f"{path}: expected a file")
        if kind != "align":
            raise _refusal(name, f"not an option of {kind}")
    return files


def _further(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return what was given of the options of one kind of report only."""
    names = {name for own in FURTHER.values() for name in own}
    found = {n: given[n] for n in names if given.get(n) is not None}
    for name in found:
        if name not in FURTHER[kind]:
            raise _refusal(name, f"not an option of {kind}")
    return found
