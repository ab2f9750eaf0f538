from pathlib import Path

from annotate.management.studies import WritingCommand, find_study
from annotate.reports.building import write_export


class Command(WritingCommand):
    help = (
        "Write a study's answers, scores and description as files. "
        "Example: export_study pilot --out export/"
    )

    def handle(self, *, study: str, out: Path, **_options: object) -> None:
        row = find_study(study)
        try:
            written = write_export(row, out)
        except OSError as error:
            raise self.unwritable(out, error) from error
        for path in written:
            self.stdout.write(str(path))
