import argparse
from pathlib import Path

from analysis.sentences import counted
from evalcore.exporting import export_questionnaires, prompts_with_questionnaires
from evalcore.formats.vistar import FILE, TABLE
from evalcore.formats.written_files import write_files
from evalcore.importing.commands import ImportCommand


class Command(ImportCommand):
    help = (
        "Write the questionnaires of VISTAR prompts with their authors: as "
        f"FOLDER/{FILE}, which `import benchmark` reads, and as FOLDER/{TABLE}. "
        "Example: export_questionnaires vistar path/to/folder"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        self.add_folder(parser)

    def handle(
        self, *, benchmark: str, folder: Path, replace: bool, **_options: object
    ) -> None:
        row = self.benchmark(benchmark)
        number = prompts_with_questionnaires(row).count()
        if not number:
            self.stdout.write("Nothing to do: no prompt has a questionnaire.")
            return
        written = write_files(folder, export_questionnaires(row), replace=replace)
        self.stdout.write(written.line(counted(number, "questionnaire")))
