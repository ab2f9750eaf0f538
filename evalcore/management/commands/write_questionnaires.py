import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.commands.option_values import split_names
from analysis.sentences import counted
from evalcore.exporting import vistar_prompts
from evalcore.formats.vistar import FILE, TABLE, prompt_for_judge, questionnaire_files
from evalcore.formats.written_files import write_files
from evalcore.importing.commands import ImportCommand
from evalcore.metrics.base import FatalError, Scoring
from evalcore.metrics.engine import Engine, MetricJob
from evalcore.metrics.llm_judge.asking import Refusal
from evalcore.metrics.llm_judge.client import judge_name, missing_judge
from evalcore.metrics.registry import declared
from evalcore.metrics.vistar.prompt_language import is_asked
from evalcore.metrics.vistar.questionnaire import (
    HierarchicalQuestionnaire,
    PromptForJudge,
    generate,
    prompt_version,
)
from evalcore.models import Benchmark
from evalcore.scoring.chunks import feature_store
from evalcore.scoring.judge_budget import asking_for_command

Made = dict[str, HierarchicalQuestionnaire | Refusal]


class Command(ImportCommand):
    help = (
        "Have the judge write questionnaires for the VISTAR prompts that ask for hwpq "
        f"and lack one, to FOLDER/{FILE} and, for reading, {TABLE}. Review the "
        "questions, then add the first file with import benchmark. "
        "Example: write_questionnaires vistar path/to/folder"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        self.add_folder(parser)
        parser.add_argument(
            "--stories",
            default="",
            help='write for these stories, such as "0001,0002", whatever their angle',
        )

    def handle(
        self, *, benchmark: str, folder: Path, stories: str, **options: Any
    ) -> None:
        row = self.benchmark(benchmark)
        if lacks := missing_judge():
            raise CommandError(f"No judge is available: {lacks}", returncode=2)
        info = declared("hwpq")
        prompts = {
            key: prompt
            for key, prompt in vistar_prompts(row, split_names(stories)).items()
            if "questionnaire" not in prompt
            and (stories or is_asked(info, {"vistar": prompt}))
        }
        if not prompts:
            angles = ", ".join(info.angles)
            self.stdout.write(
                f"Nothing to do: no prompt of {angles} lacks a questionnaire."
            )
            return
        asked = {key: prompt_for_judge(prompt) for key, prompt in prompts.items()}
        made = self._ask(row, asked)
        good = {
            k: one
            for k, one in made.items()
            if isinstance(one, HierarchicalQuestionnaire)
        }
        if good:
            whole = {
                key: {**prompts[key], "questionnaire": one.as_json()}
                for key, one in good.items()
            }
            files = questionnaire_files(whole)
            written = write_files(folder, files, replace=options["replace"])
            self.stdout.write(written.line(counted(len(good), "questionnaire")))
        refused = {k: one for k, one in made.items() if isinstance(one, Refusal)}
        self.warn(f"story {key}: {why}; left out" for key, why in refused.items())
        if refused:
            raise CommandError(
                f"No questionnaire for {counted(len(refused), 'prompt')}."
            )

    def _ask(self, benchmark: Benchmark, prompts: Mapping[str, PromptForJudge]) -> Made:
        """Return what the judge wrote, and say what that cost."""
        made: Made = {}

        author = {
            "name": judge_name(),
            "written_on": f"{datetime.now(UTC):%Y-%m-%d}",
            "prompt_version": prompt_version(),
        }

        def job() -> Scoring:
            made.update((yield from generate(prompts, author)))
            return []

        try:
            with asking_for_command(benchmark, ["hwpq"]) as judge:
                for outcome in Engine(feature_store()).run([MetricJob(FILE, job())]):
                    if outcome.error is not None:
                        raise CommandError(f"{outcome.error}. Nothing was written.")
        except FatalError as error:
            raise CommandError(f"{error}. Nothing was written.") from error
        if judge.meter.spent:
            each = judge.meter.spent * 1000 / len(prompts)
            self.stdout.write(
                f"The judge cost {judge.meter.spent:.2f} dollars, or {each:.2f} per "
                "thousand prompts. VISTAR's limit is 5, answers included."
            )
        return made
