import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from analysis.commands.arguments import add_figures
from analysis.commands.shared_options import ALIGNMENT, RESAMPLING, add
from analysis.options import AlignOptions, OptionError
from analysis.problems import InputError
from analysis.tracking import SERVICES, add_tracking, check_clients, report_run, track
from annotate.audit_log import as_of_event
from annotate.audit_log.as_of_event import MomentError
from annotate.management import WritingCommand
from annotate.models import MAIN, Study
from annotate.reports import study_scores
from annotate.reports.writing import ReportError, write_study_report


class Command(WritingCommand):
    refused = (ReportError, InputError, OptionError, MomentError)
    help = (
        "Write the report of a study. Example: report pilot --out report/. To "
        "reproduce an earlier report: report pilot --out again/ --view main --as-of "
        "1234"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--view", default=MAIN, help="analysis view; default: main")
        parser.add_argument(
            "--as-of",
            type=int,
            help="number of an event in the study's log: report "
            "the data as of this event; default: now",
        )
        parser.add_argument(
            "--hypotheses",
            type=Path,
            help="CSV file of hypotheses (columns question, metric) to use instead of "
            "the study's; an empty file declares none",
        )
        parser.add_argument(
            "--composites",
            type=Path,
            help="YAML or JSON file of composites to use instead of the study's; an "
            "empty file defines none",
        )
        add(parser, ALIGNMENT)
        add(parser, RESAMPLING)
        add_figures(parser)
        add_tracking(parser)

    def work(
        self,
        study: Study,
        *,
        out: Path,
        images: str,
        view: str,
        as_of: int | None,
        hypotheses: Path | None = None,
        composites: Path | None = None,
        **given: Any,
    ) -> None:
        known = list(study.analysis_views.values_list("key", flat=True))
        if view not in known:
            raise _refusal("view", f"{view!r}: expected one of {', '.join(known)}")
        files = _files(hypotheses=hypotheses, composites=composites)
        if as_of is None and (missing := study_scores.missing_now(study)):
            self.stderr.write(
                "note: scores are still being computed, so some values are missing "
                f"for {', '.join(missing)}"
            )
        asked = {name: given.get(name) for name in SERVICES}
        check_clients(asked)
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
                files=files,
                images="" if images == "none" else images,
                progress=bar.set_description_str,
            )
        self.stdout.write(str(page))
        for line in track(report_run(out, study.slug), asked):
            self.stdout.write(line)


def _refusal(option: str, text: str) -> CommandError:
    return CommandError(f"--{option}: {text}", returncode=2)


def _files(**given: Path | None) -> dict[str, Path]:
    """Return the files that are given, by their options."""
    files = {name: path for name, path in given.items() if path is not None}
    for name, path in sorted(files.items()):
        if not path.is_file():
            raise _refusal(name, f"{path}: expected a file")
    return files
