"""Questionnaires that a judge wrote, as a file that `import_benchmark` reads.

So they can be looked over before any picture is judged by them, and corrected.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.problems import InputError, Problem
from evalcore.formats.written_files import Files, as_lines
from evalcore.metrics.vistar.generation import PromptForJudge
from evalcore.metrics.vistar.prompt_language import parse
from evalcore.metrics.vistar.questionnaire import HierarchicalQuestionnaire
from evalcore.models import Benchmark

FILE = "questionnaires.jsonl"
# What VISTAR's lists said of each prompt, by the story's key.
Prompts = Mapping[str, Mapping[str, Any]]


def prompts_without(benchmark: Benchmark, stories: Sequence[str]) -> Prompts:
    """Return the prompts of a benchmark that have no questionnaire."""
    extras = dict(benchmark.stories.order_by("key").values_list("key", "extra"))
    problems = [
        Problem("--stories", f"a story of {benchmark.slug}", value=key)
        for key in stories
        if key not in extras
    ]
    found = {}
    for key in stories or extras:
        told = extras.get(key, {}).get("vistar")
        if isinstance(told, Mapping):
            found[key] = told
        elif key in extras:
            what = "a prompt imported from a list of VISTAR's form"
            problems.append(Problem(f"story {key}", what))
    if problems:
        raise InputError(problems)
    return {key: told for key, told in found.items() if "questionnaire" not in told}


def told(prompt: Mapping[str, Any]) -> PromptForJudge:
    """Return what a judge is told of a prompt."""
    text = str(prompt["prompt"]).strip()
    return PromptForJudge(
        parse(text).text if text.startswith("[") else text,
        prompt.get("role") or "",
        prompt.get("angle") or "",
        prompt.get("parameters") or {},
    )


def questionnaire_file(
    prompts: Prompts, questionnaires: Mapping[str, HierarchicalQuestionnaire]
) -> Files:
    """Return the file that adds questionnaires to their prompts when it is imported."""
    rows = [
        {
            "prompt_id": key,
            "prompt": prompts[key]["prompt"],
            "questionnaire": questionnaire.as_json(),
        }
        for key, questionnaire in questionnaires.items()
    ]
    return {FILE: as_lines(rows)}
