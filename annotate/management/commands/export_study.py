from pathlib import Path
from typing import Any

from annotate.management import WritingCommand
from annotate.models import Study
from annotate.reports.downloads import write_export


class Command(WritingCommand):
    help = (
        "Write the answers, scores and description of a study to files. "
        "Example: export pilot --out export/"
    )

    def work(self, study: Study, *, out: Path, **_options: Any) -> None:
        for path in write_export(study, out):
            self.stdout.write(str(path))
