import argparse
from pathlib import Path
from typing import Any

from annotate.audit_log import as_of_event
from annotate.audit_log.as_of_event import MomentError
from annotate.bundles import exporting
from annotate.management import WritingCommand
from annotate.models import MAIN, Study
from annotate.reports.export_folder import FORMATS, write_export
from annotate.reports.layouts import IMAGE_FOLDER, LAYOUTS, ExportError


class Command(WritingCommand):
    refused = (ExportError, exporting.BundleError, MomentError)
    needs_out = False
    help = (
        "Write the answers, scores and description of a study to files. "
        "Example: export pilot --out export/ --format parquet --layout wide. "
        "Everything as one file: export pilot --bundle pilot.zip"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        add = parser.add_argument
        add("--table", default="", help="ratings, scores, ...; default: all tables")
        add("--format", default=FORMATS[0], choices=FORMATS, help="default: csv")
        add(
            "--layout",
            default="long",
            choices=[*LAYOUTS, IMAGE_FOLDER],
            help="a row an answer (long, the default), a column a question (wide), or "
            "that of another program; huggingface has pictures, and tables in Parquet",
        )
        add("--view", default=MAIN, help="analysis view; default: main")
        add(
            "--as-of",
            type=int,
            help="number of an event in the study's log: export the data as of this "
            "event; default: now",
        )
        add(
            "--with-scores",
            action="store_true",
            help="in a wide table of answers, add a column for each metric",
        )
        add("--bom", action="store_true", help="begin CSV with a byte order mark")
        add(
            "--bundle",
            type=Path,
            metavar="FILE.zip",
            help="write everything that belongs to the study into one file, which "
            "import_bundle reads on another server",
        )
        add("--no-pictures", action="store_true", help="leave them out of the bundle")
        says = "of a bundle's data, as the Hugging Face Hub names it: cc-by-4.0"
        add("--license", default="", help=says)

    def work(
        self,
        study: Study,
        *,
        out: Path | None,
        bundle: Path | None,
        view: str,
        as_of: int | None,
        format: str,
        **options: Any,
    ) -> None:
        if bundle is not None:
            exporting.write_bundle(
                study,
                bundle,
                pictures=not options["no_pictures"],
                license=options["license"],
            )
            self.stdout.write(str(bundle))
            return
        if out is None:
            raise ExportError("--out, --bundle: expected one of them")
        known = study.analysis_views.values_list("key", flat=True)
        if view not in known:
            expected = ", ".join(known)
            raise ExportError(f"--view: {view!r}: expected one of {expected}")
        names = ("table", "layout", "with_scores", "bom")
        for path in write_export(
            study,
            out,
            form=format,
            view=view,
            as_of=None if as_of is None else as_of_event.moment(study, as_of),
            note=lambda text: self.stderr.write(f"note: {text}"),
            **{name: options[name] for name in names},
        ):
            self.stdout.write(str(path))
