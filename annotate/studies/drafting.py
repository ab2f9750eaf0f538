"""From what a manager chose to a draft study: a new one, an edited one, a new version.

The form and the command line say the same things (`Setup`) to the same planning.
"""

import dataclasses
import re
import shlex
from collections import Counter

from django.db import transaction
from django.utils.translation import gettext as _

from analysis.options import Progress, silent
from annotate import event_log
from annotate.models import Annotator, Event, Study, StudyMember, User
from annotate.studies import lifecycle, planning
from annotate.studies.changing import names_now, withdrawn_names
from annotate.studies.planning import Setup
from annotate.studies.study_file import read_definition, write_definition
from annotate.studies.units import PlanningError
from evalcore.models import most_letters

STORING = "storing the study"
LONGEST_SLUG = most_letters(Study, "slug")


def create(
    setup: Setup,
    user: User,
    previous: Study | None = None,
    progress: Progress = silent,
) -> Study:
    """Plan a draft study; it may be the next version of another."""
    planning.check_slug(setup.slug)
    draft = planning.with_twins(planning.prepare(setup, progress))
    progress(STORING)
    return planning.store(draft, user, previous)


def replace(
    study: Study, setup: Setup, user: User, progress: Progress = silent
) -> Study:
    """Plan a draft anew under its old name; its members and versions stay.

    Once annotators may have met it, or where that cannot be planned, the old one stays.
    """
    lifecycle.check_editable(study)
    draft = planning.with_twins(planning.prepare(setup, progress))
    progress(STORING)
    with transaction.atomic():
        old = Study.objects.select_for_update().filter(pk=study.pk).first()
        if old is None:
            raise lifecycle.LifecycleError(
                _("Somebody has stored this draft anew meanwhile; load the page again.")
            )
        lifecycle.check_editable(old)
        members = list(old.members.exclude(user=user))
        role = old.members.filter(user=user).first()
        before, following = old.previous_version, list(old.next_versions.all())
        old.slots.all().delete()
        old.delete()
        new = planning.store(draft, user, before)
        if role is None:  # a superuser edits without being a member
            new.members.all().delete()
        StudyMember.objects.bulk_create(
            StudyMember(study=new, user=member.user, role=member.role)
            for member in members
        )
        Study.objects.filter(pk__in=[s.pk for s in following]).update(
            previous_version=new
        )
        event_log.note(Event.Kind.STUDY_EDITED, new.pk, user=user)
    return new


def setup_of(study: Study) -> Setup:
    """Return what a study was planned from."""
    if not study.definition:
        raise PlanningError("This study was imported; it has no study file.")
    planned = study.events.filter(kind=Event.Kind.STUDY_PLANNED).first()
    chosen = planned.details if planned else {}
    name = study.template or study.slug
    setup = Setup(
        study.slug,
        study.benchmark,
        read_definition(study.definition, file=f"{study.slug}.yaml", name=name),
        _annotators(study),
        tuple(chosen.get("methods", ())),
        tuple(chosen.get("stories", ())),
    )
    return _as_it_is_now(study, setup)


def file_of(study: Study) -> str:
    """Return the study file of a study as it is now, and how to plan it again.

    The file does not say which methods and stories were chosen; a comment does.
    """
    setup = setup_of(study)
    people = setup.annotators
    if isinstance(people, int):
        told = str(people or "")
    else:
        told = ",".join(f"{name}={number}" for name, number in people.items())
    asked = [
        ("--benchmark", setup.benchmark.slug),
        ("--file", f"{study.slug}.yaml"),
        ("--annotators", told),
        ("--methods", ",".join(setup.methods)),
        ("--stories", ",".join(setup.stories)),
    ]
    command = ["plan_study", "NAME"]
    for option, value in asked:
        # A comment ends with its line.
        command += [option, shlex.quote(" ".join(value.split()))] if value else []
    again = f"# The same study again: manage.py {' '.join(command)}\n"
    return again + write_definition(setup.definition)


def _as_it_is_now(study: Study, setup: Setup) -> Setup:
    """Name methods and stories one by one if some came later or were withdrawn."""
    gone_methods, gone_stories = withdrawn_names(study)
    extended = study.events.filter(kind=Event.Kind.STUDY_EXTENDED)
    came = any(e.details.get("methods") or e.details.get("stories") for e in extended)
    if not (came or gone_methods or gone_stories):
        return setup
    return as_judged(study, setup)


def as_judged(study: Study, setup: Setup) -> Setup:
    """Name the methods and stories that the study judges, whatever else there is."""
    methods, stories = names_now(study)
    return dataclasses.replace(
        setup,
        definition=setup.definition.with_changes(stories=None),
        methods=tuple(sorted(methods)),
        stories=tuple(sorted(stories)),
    )


def _annotators(study: Study) -> int | dict[str, int]:
    if study.is_open:
        return 0
    people = study.annotators.exclude(state=Annotator.State.REVOKED)
    count = Counter(people.values_list("language", flat=True))
    return dict(count) if study.languages else count.total()


def next_slug(slug: str) -> str:
    """Return the name of a study's next version: `pilot`, `pilot-2`, `pilot-3`."""
    match = re.fullmatch(r"(.*)-(\d{1,4})", slug)
    stem, number = (match[1], int(match[2]) + 1) if match else (slug, 2)
    while True:
        ending = f"-{number}"
        name = stem[: LONGEST_SLUG - len(ending)] + ending
        if not Study.objects.filter(slug=name).exists():
            return name
        number += 1
