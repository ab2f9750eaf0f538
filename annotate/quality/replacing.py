"""Replace a wrong picture or video of an output in every study that shows it.

Which picture somebody saw is decided by the slot that they were offered: every slot
made before the replacement is closed, and its answers, however late, are about the old
picture. Other slots are opened in their place.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from annotate import event_log
from annotate.access.permissions import managed_studies, owns
from annotate.models import (
    FINAL,
    PICTURE_REPLACED,
    Event,
    Purpose,
    Slot,
    Study,
    Unit,
    User,
)
from annotate.models.units import OUTPUTS
from annotate.presentation import broken_media
from annotate.presentation.same_size import outputs_of
from annotate.quality.exclusion import REPLACEMENT, exclude
from annotate.responses import giving_back
from annotate.responses.analysis_views import hide_from_all, in_force
from annotate.responses.leasing import UNFINISHED, start_lease
from evalcore import media
from evalcore.models import Frame, MediaFile, Output
from evalcore.perturbations import degraded_copies
from evalcore.scoring import metric_runs, score_rows
from evalcore.video import storing
from evalcore.video.decoding import UnreadableVideoError

# The shot of a video, which is a file for all shots.
VIDEO = 0
# Lengths of videos that differ by less are the same.
SECONDS = 0.1
# Shapes that differ by less are the same.
TOLERANCE = 1.02
# What a new slot takes over from the one in whose place it opens.
TAKEN_OVER = (
    "study_id",
    "unit_id",
    "purpose",
    "round",
    "ordinal",
    "annotator_id",
    "session",
    "position",
    "a_is_left",
    "turn",
    "claimed",
    "language",
    "level",
    "draw",
    "probability",
    "alternatives",
)


class ReplacingError(ValueError):
    """The picture cannot be replaced; the message says why."""


@dataclass(frozen=True)
class Effect:
    """Effects of a replacement on a study that shows the output."""

    study: Study
    seen: int
    """Ratings that are set aside."""
    begun: int
    """Ratings that somebody has opened, and that begin again."""
    has_expected: bool
    """Whether the study expects answers for it, in training or as a check."""

    @property
    def is_fixed(self) -> bool:
        """Say whether results rest on the old picture that nobody can ask again."""
        at_rest = self.study.state == Study.State.CLOSED or self.study.is_imported
        return at_rest and self.seen > 0


def replaceable_outputs(study: Study, user: User) -> QuerySet[Output]:
    """Return the original outputs of a study, to those who may change them."""
    if not owns(user, study.benchmark):
        raise PermissionDenied(
            _("Only an owner of the benchmark who manages the study may do that.")
        )
    outputs = outputs_of(study).filter(twin_of=None)
    return outputs.select_related("story__benchmark", "method", "video")


def shots_of(output: Output) -> list[int]:
    """Return the shots whose pictures can be replaced; for a video, `VIDEO`."""
    if output.video_id:
        return [VIDEO]
    return list(output.frames.values_list("number", flat=True))


def shown_now(output: Output, shot: int) -> MediaFile | None:
    """Return the picture of a shot, or the video; None if it is missing."""
    if shot not in shots_of(output):
        raise ReplacingError(_("This output has no such picture."))
    if output.video_id:
        return output.video
    return output.frames.select_related("media").get(number=shot).media


def offer(
    output: Output, shot: int, path: Path, user: User
) -> tuple[MediaFile | None, MediaFile]:
    """Return the picture that is shown, and a file stored to replace it."""
    now = shown_now(output, shot)
    if why := refusal(user, effects(output)):
        raise ReplacingError(why)
    return now, prepare(output, shot, path)


def prepare(output: Output, shot: int, path: Path) -> MediaFile:
    """Store a file that could replace a picture, without showing it anywhere."""
    now = shown_now(output, shot)
    try:
        if output.video_id:
            new = storing.prepare_video(path)
        else:
            new = media.prepare_file(path)
        media.store_prepared([new])
    except (media.UnreadablePictureError, UnreadableVideoError) as error:
        text = _("This file cannot be used. Expected: %(what)s.")
        raise ReplacingError(text % {"what": error}) from error
    if now is not None and now.pk == new.pk:
        raise ReplacingError(
            _("This is the same video.")
            if shot == VIDEO
            else _("This is the same picture.")
        )
    return new


def differences(now: MediaFile | None, new: MediaFile) -> list[str]:
    """Return sentences on how a new file differs in size, shape and length."""
    if now is None:
        return []
    notes = []
    if (now.width, now.height) != (new.width, new.height):
        across, down = now.width * new.height, new.width * now.height
        text = _("The new file has %(new)s pixels, the old one %(now)s.")
        sizes = {"new": _size(new), "now": _size(now)}
        notes.append(text % sizes)
        if max(across, down) > TOLERANCE * min(across, down):
            notes.append(_("Its shape differs, so annotators could recognise it."))
    lengths = now.duration_seconds, new.duration_seconds
    if lengths[0] and lengths[1] and abs(lengths[0] - lengths[1]) > SECONDS:
        text = _("The new video takes %(new).1f s, the old one %(now).1f s.")
        notes.append(text % {"new": lengths[1], "now": lengths[0]})
    return notes


def _size(stored: MediaFile) -> str:
    return f"{stored.width} x {stored.height}"


def _showing(output: Output) -> QuerySet[Unit]:
    shows = Q()
    for name in OUTPUTS:
        shows |= Q(**{name: output})
    return Unit.objects.filter(shows)


def effects(output: Output) -> list[Effect]:
    """Return what a replacement does to each study that shows the output."""
    slots = Slot.objects.filter(unit__in=_showing(output))
    seen = Q(state=Slot.State.SUBMITTED) & ~Q(purpose=Purpose.TRAINING)
    begun = Q(state__in=UNFINISHED, started_at__isnull=False)
    counted = (
        slots.order_by()
        .values_list("study")
        .annotate(seen=Count("pk", filter=seen), begun=Count("pk", filter=begun))
    )
    numbers = {study: (seen, begun) for study, seen, begun in counted}
    studies = Study.objects.filter(units__in=_showing(output)).distinct()
    known = _showing(output).filter(purpose__in=(Purpose.TRAINING, Purpose.GOLD))
    expecting = set(known.values_list("study", flat=True))
    return [
        Effect(study, *numbers.get(study.pk, (0, 0)), study.pk in expecting)
        for study in studies.order_by("slug")
    ]


def refusal(user: User, affected: Iterable[Effect]) -> str:
    """Return why the user may not replace a picture of these studies, or nothing."""
    affected = list(affected)
    managed = set(managed_studies(user).values_list("pk", flat=True))
    if others := [one.study.slug for one in affected if one.study.pk not in managed]:
        text = _(
            "These studies show it as well, and you do not manage them: %(names)s. Ask "
            "their managers to add you."
        )
        return text % {"names": ", ".join(others)}
    if fixed := [one.study.slug for one in affected if one.is_fixed]:
        text = _(
            "Results of closed or imported studies rest on the old picture: %(names)s. "
            "Reopen a closed study first, so that its ratings can be asked again."
        )
        return text % {"names": ", ".join(fixed)}
    return ""


@transaction.atomic
def replace(
    output: Output, shot: int, *, now: str, new: str, user: User
) -> list[Effect]:
    """Show another stored file from now on; `now` is the one that the user saw.

    Ratings of the old picture are set aside and asked again, begun ones start again,
    and scores of the output are forgotten.
    """
    locked = Output.objects.select_for_update(no_key=True).get(pk=output.pk)
    stored = shown_now(locked, shot)
    if (stored.pk if stored else "") != now:
        raise ReplacingError(
            _("Somebody else has replaced it meanwhile. Look at it again.")
        )
    showing = _showing(locked)
    studies = Study.objects.filter(pk__in=showing.values("study")).order_by("pk")
    by_study = {study.pk: study for study in studies.select_for_update(no_key=True)}
    units = list(showing.select_for_update(no_key=True).order_by("pk"))
    done = effects(locked)
    if why := refusal(user, done):
        raise ReplacingError(why)
    metric_runs.begin_again(locked.story.benchmark)
    if shot == VIDEO:
        Output.objects.filter(pk=locked.pk).update(video=new)
    else:
        Frame.objects.filter(output=locked, number=shot).update(media=new)
    score_rows.forget_output(locked)
    degraded_copies.forget_perturbations(locked)
    about: dict[str, Any] = {"story": locked.story.key, "method": locked.method.name}
    if shot != VIDEO:
        about["shot"] = str(shot)
    for effect in done:
        study = by_study[effect.study.pk]
        own = [unit for unit in units if unit.study_id == study.pk]
        # Nobody has been offered a slot of a draft.
        is_draft = study.state == Study.State.DRAFT
        closed = set() if is_draft else _close(study, own, user)
        _hand_out(study, own, locked, shot)
        event_log.note(
            Event.Kind.PICTURE_REPLACED,
            study.pk,
            user=user,
            **about,
            old=now,
            new=new,
            set_aside=effect.seen,
            renewed=effect.begun,
            closed=sorted(closed),
        )
    return done


def _close(study: Study, units: Sequence[Unit], user: User) -> set[int]:
    """Close every slot of units, open others in their place, and return the former.

    Browsers may have loaded the next stories, so that even a slot that nobody has
    begun may show the old picture somewhere.
    """
    slots = study.slots.filter(unit__in=units)
    closed = set(slots.values_list("pk", flat=True))
    excluded = in_force(study).filter(slot__unit__in=units)
    hide_from_all(study, list(excluded.exclude(rule__in=FINAL)), PICTURE_REPLACED)
    opened = set()
    seen = slots.filter(state=Slot.State.SUBMITTED)
    for slot in seen.exclude(purpose=Purpose.TRAINING).order_by("pk"):
        row = exclude(slot, reason=REPLACEMENT, author=user, rule=PICTURE_REPLACED)
        opened.add(row.replacement_id)
    unfinished = slots.filter(state__in=UNFINISHED).order_by("pk")
    # Checks are added to sittings meanwhile, without a lock on their units.
    while left := list(
        unfinished.exclude(pk__in=[pk for pk in opened if pk]).select_for_update(
            no_key=True, of=("self",)
        )
    ):
        for slot in left:
            slot.study = study
            opened.add(_renew(slot))
            closed.add(slot.pk)
    return closed


def _renew(old: Slot) -> int | None:
    """Withdraw an unfinished slot, and open another one; a repeat has nothing left."""
    values: dict[str, Any] = {name: getattr(old, name) for name in TAKEN_OVER}
    is_leased = old.state == Slot.State.LEASED
    giving_back.withdraw(old)
    if old.purpose == Purpose.REPEAT:
        return None
    new = Slot.objects.create(**values)
    new.study = old.study
    is_check: dict[str, Any] = (
        {} if new.purpose == Purpose.REAL else {"purpose": new.purpose}
    )
    event_log.note_slot(Event.Kind.SLOT_OPENED, new, instead_of=old.code, **is_check)
    if is_leased:
        start_lease(new)
    return new.pk


def _hand_out(study: Study, units: Sequence[Unit], output: Output, shot: int) -> None:
    """Settle reports of the broken picture, and offer the units again."""
    reports = [
        fault
        for report in broken_media.reported(study)
        if report.output == output and report.shot in (shot, VIDEO)
        for fault in report.faults
    ]
    broken_media.settle(study, reports)
    study.units.filter(pk__in=[unit.pk for unit in units]).update(set_aside_at=None)
    study.presentation.pop("drawn", None)
    study.save(update_fields=["presentation"])
