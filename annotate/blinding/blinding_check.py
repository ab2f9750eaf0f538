"""Checking that a study is blind: what is looked at, and what is made of it."""

import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from annotate.blinding import leak_scan, method_differences
from annotate.blinding.findings import (
    BlindingFinding,
    BlindingReport,
    Telltales,
    folded,
)
from annotate.blinding.leak_scan import NO_NAMES, Scanner
from annotate.blinding.method_differences import Facts, SentMedia
from annotate.blinding.seat_crawl import (
    Seat,
    SeatAnswer,
    Visit,
    borrowed,
    group,
    visit,
    visit_pages,
)
from annotate.models import Invitation, Purpose, Study, Unit
from annotate.presentation import same_size, shape_notes
from evalcore.models import Output

SLOTS = 20
# A method is compared with others in so many units at least, a kind of check in two.
LEAST = 2
MOST_NAMED = 8
_SIZE = re.compile(r"^in \S*(width|height|size)", re.I)


class BlindingCheck:
    """One look at a study; `report` tells what was found."""

    def __init__(self, study: Study, *, slots: int | None = SLOTS) -> None:
        self.study, self.report = study, BlindingReport()
        self.units = choose_units(study, slots)
        outputs = same_size.outputs_of(study)
        with borrowed(study):  # finding the box would store it
            self.box = same_size.box_of(study)
        interface = leak_scan.interface()
        self.texts = leak_scan.own_texts(study, self.units)
        self.scanner = Scanner(
            Telltales(leak_scan.telltales(outputs), interface),
            Telltales(leak_scan.check_words(), interface),
            sorted(self.texts, key=len, reverse=True),
            leak_scan.hashes(outputs | same_size.outputs_of_examples(study)),
        )
        self.shapes = shape_notes.of_study(study)
        self.gaps = leak_scan.gaps(outputs)
        self.leaks: list[BlindingFinding] = []
        self.sent: list[SentMedia] = []
        self.pages: list[SentMedia] = []
        self.embedded: list[tuple[str, dict[str, str]]] = []
        self.parts: list[tuple[str, str, tuple[str, ...]]] = []

    def run(self) -> Iterator[Unit]:
        """Look at unit after unit, and yield each that was looked at."""
        begun = time.monotonic()
        seat = Seat(self.report.counts)
        for answer, token in visit_pages(self.study, seat):
            where = answer.address.replace(token, "…")
            self.leaks += self.scanner.answer(answer, where, None)
            if answer.is_media:
                self.leaks += self.scanner.media(answer, where, "")[1]
        self.leaks += self._codes()
        for unit in self.units:
            same_size.draw_unit(unit, self.box)  # not while others wait
            self._take(visit(self.study, unit, seat))
            yield unit
        self._compare()
        self.report.counts.seconds = round(time.monotonic() - begun, 2)

    def _codes(self) -> Iterator[BlindingFinding]:
        """Look at the links and codes that were made already."""
        for code in self.study.slots.values_list("code", flat=True).iterator():
            yield from self.scanner.code(code, f"in the code of slot {code}")
        links = Invitation.objects.filter(annotator__study=self.study)
        for token, name in links.values_list("token", "annotator__name"):
            yield from self.scanner.code(token, f"in the link of annotator {name}")

    def _take(self, found: Visit) -> None:
        for answer in [*found.pages, *found.others, *found.media]:
            where = found.plain(answer.address)
            self.leaks += self.scanner.answer(answer, where, found)
            if answer.status == 404:
                self.report.warnings.append(
                    BlindingFinding(
                        "an address that leads nowhere",
                        f"at {where}",
                        "",
                        "no link, or something there",
                    )
                )
        shown = " and ".join(map(label, found.shown.values()))
        for page in found.pages:
            named = f"pages ({page.language})"
            self.pages.append(
                SentMedia(
                    found.plain(page.address), named, shown, page.headers, NO_FACTS
                )
            )
        for answer in found.media:
            self._take_media(found, answer)
        self.leaks += _unseen(found)
        for code, addresses in found.embedded.items():
            # Examples are the same whatever is judged.
            own = (a for a in addresses if group(a) != "example")
            methods = {a: label(found.output_at(a)) for a in own}
            self.embedded.append((f"slot {code}", methods))
        self.scanner.count(found)

    def _take_media(self, found: Visit, answer: SeatAnswer) -> None:
        output = found.output_at(answer.address)
        where, method = found.plain(answer.address), label(output)
        where += f" of story {found.unit.story.key}"
        facts, leaks = self.scanner.media(answer, where, method)
        self.leaks += leaks
        named = group(answer.address)
        sent = SentMedia(
            where, named, method, answer.headers, facts, found.unit.story.key
        )
        self.sent.append(sent)
        if output is not None:
            self.parts.append((where, output.method.name, _parts(found, answer)))

    def _compare(self) -> None:
        of_methods = [one for one in self.sent if one.method]
        videos = [one for one in of_methods if one.facts.seconds is not None]
        sizes = list(method_differences.compare_sizes(of_methods, self.box))
        numbers = list(self.scanner.numbers())
        sizes += [one for one in numbers if _SIZE.search(one.where)]
        shots = (n.number for u in self.units for n in u.story.shots.all())
        most = max(shots, default=0)  # the highest number that an address may hold
        self.leaks += [
            *method_differences.compare_headers(self.sent),
            *method_differences.compare_headers(self.pages),
            *method_differences.compare_marks(of_methods),
            *method_differences.repeated_addresses(self.embedded),
            *method_differences.telling_parts(self.parts, most),
            *self.scanner.common(),
        ]
        warnings = self.report.warnings
        if self.study.same_size:
            self.leaks += sizes
            warnings += leak_scan.odd_shapes(self.shapes)
        else:
            warnings += sizes
        warnings += method_differences.compare_gaps(self.gaps)
        warnings += method_differences.compare_videos(videos)
        warnings += [one for one in numbers if not _SIZE.search(one.where)]
        warnings += self._mentioned()
        self.report.leaks, self.report.warnings = folded(self.leaks), folded(warnings)
        self._note()

    def _mentioned(self) -> Iterator[BlindingFinding]:
        """Yield names in texts that the study shows on purpose."""
        for text, where in self.texts.items():
            for one in self.scanner.telltales.find(text):
                if one.kind == "name":
                    yield BlindingFinding(
                        f"name “{one.text}” in a text of the study",
                        f"in {where}",
                        one.who,
                        NO_NAMES,
                    )

    def _note(self) -> None:
        # These are looked for less strictly.
        names = sorted({one.text for one in self.scanner.telltales.common})
        if names:
            more = f" and {len(names) - MOST_NAMED} more" * (len(names) > MOST_NAMED)
            listed = ", ".join(names[:MOST_NAMED])
            self.report.notes.append(
                f"Also words of the pages, single letters or numbers, so found only "
                f"where they stand more often for their own method: {listed}{more}."
            )
        if not self.study.same_size:
            self.report.notes.append(
                "This study shows each method in its own size (presentation.same_size "
                "is false), so sizes are warnings."
            )
        if not self.units:
            self.report.notes.append("The study has no units, so nothing was shown.")


NO_FACTS = Facts("page")


def label(output: Output | None) -> str:
    """Return whose output it is, told apart from its degraded twin; "" of nobody's."""
    if output is None:
        return ""
    return output.method.name + " (degraded)" * (output.twin_of_id is not None)


def _unseen(found: Visit) -> Iterator[BlindingFinding]:
    """Yield outputs of which nothing came, though there is something to see."""
    seen = {output.pk for a in found.media if (output := found.output_at(a.address))}
    for output in found.shown.values():
        drawn = output.video_id or output.frames.filter(media__isnull=False).exists()
        if drawn and output.pk not in seen:
            yield BlindingFinding(
                "no picture or video of it could be looked at",
                f"at {found.plain(found.pages[0].address)}",
                label(output),
                "a page that names what it shows",
            )


def _parts(found: Visit, answer: SeatAnswer) -> tuple[str, ...]:
    """Return the parts of an address without what is random by design."""
    plain = found.plain(answer.address)
    for mark in "?=&":
        plain = plain.replace(mark, "/")
    return tuple(
        part for part in plain.split("/") if part not in ("", "…", *found.shown)
    )


def choose_units(study: Study, slots: int | None) -> list[Unit]:
    """Return units to look at: every method often enough, and each kind of check."""
    units = study.units.select_related(
        "story", "study", *study.output_paths(below="__method")
    ).prefetch_related("story__shots", "story__characters")
    if slots is None:
        return list(units)
    dice = random.Random(study.seed)
    by_purpose: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        by_purpose[unit.purpose].append(unit)
    chosen = []
    for purpose, listed in sorted(by_purpose.items()):
        dice.shuffle(listed)
        if purpose == Purpose.REAL:
            chosen += _covering(listed, slots)
        else:
            chosen += listed[:LEAST]
    return chosen


def _covering(listed: Iterable[Unit], slots: int) -> list[Unit]:
    """Return units of few stories, about so many, that show every method."""
    by_story: dict[int, list[Unit]] = defaultdict(list)
    for unit in listed:
        by_story[unit.story_id].append(unit)
    lacking = Counter({name: LEAST for unit in listed for name in unit.methods})
    chosen: list[Unit] = []
    for units in by_story.values():
        here: set[str] = set()
        for unit in units:
            new = set(unit.methods) - here
            wanted = any(lacking[name] > 0 for name in new)
            if new and (wanted or len(chosen) < slots):
                chosen.append(unit)
                here |= new
        lacking.subtract(here)
        if len(chosen) >= slots and not any(n > 0 for n in lacking.values()):
            break
    return chosen
