"""Check of a study's blinding."""

import random
import re
import time
from collections import Counter
from collections.abc import Iterator

from annotate.blinding import leak_scan, method_differences, sent_files
from annotate.blinding.findings import (
    BlindingFinding,
    BlindingReport,
    Telltales,
    folded,
)
from annotate.blinding.leak_scan import NO_NAMES, Scanner
from annotate.blinding.seat_crawl import (
    LANGUAGES,
    Seat,
    SeatAnswer,
    Visit,
    borrowed,
    group,
    visit,
    visit_pages,
)
from annotate.blinding.sent_files import SentFile, examine
from annotate.models import Invitation, Purpose, Study, Unit
from annotate.presentation import same_size
from evalcore.models import Output

SLOTS = 20
# Minimum number of units in which each method is compared with others.
LEAST = 2
MOST_NAMED = 8
NO_METADATA = "WebP pictures and mp4 videos without metadata"
_SIZE = re.compile(r"^in \S*(width|height|size)", re.I)


class BlindingCheck:
    """One check of a study; `report` has the findings."""

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
            sorted(self.texts, key=len, reverse=True),
            leak_scan.hashes(outputs | same_size.outputs_of_examples(study)),
        )
        self.page_counts = method_differences.PageCounts(self.scanner)
        self.leaks: list[BlindingFinding] = []
        self.warnings: list[BlindingFinding] = []
        self.sent: list[SentFile] = []
        self.first_slots: dict[str, str] = {}  # by the address of a picture

    def run(self) -> Iterator[Unit]:
        """Visit the units one by one, and yield each."""
        begun = time.monotonic()
        seat = Seat(self.report.counts)
        for answer, token in visit_pages(self.study, seat):
            self._scan(answer, answer.address.replace(token, "…"), None)
        self._look_at_codes()
        for unit in self.units:
            same_size.draw_unit(unit, self.box)  # not while others wait
            self._take(visit(self.study, unit, seat))
            yield unit
        self._compare()
        self.report.leaks = folded(self.leaks)
        self.report.warnings = folded(self.warnings)
        self._note()
        self.report.seconds = round(time.monotonic() - begun, 2)

    def _look_at_codes(self) -> None:
        """Check the existing links and codes."""
        for code in self.study.slots.values_list("code", flat=True).iterator():
            self.leaks += self.scanner.code(code, f"in the code of slot {code}")
        links = Invitation.objects.filter(annotator__study=self.study)
        for token, name in links.values_list("token", "annotator__name"):
            self.leaks += self.scanner.code(token, f"in the link of annotator {name}")

    def _scan(self, answer: SeatAnswer, where: str, found: Visit | None) -> None:
        """Check one response by itself."""
        self.leaks += self.scanner.answer(answer, where, found)
        if not answer.is_media:
            return
        method = _label(found.output_at(answer.address)) if found else ""
        facts = examine(answer.body)
        what = [f"file metadata: {tag}" for tag in facts.metadata]
        if facts.size is None:
            what.append(f"an unreadable file ({answer.content_type})")
        told = [(one, method) for one in what]
        told += [
            (f"{one.kind} “{one.text}” in the bytes of a file", one.who)
            for one in self.scanner.telltales.find_bytes(answer.body)
        ]
        self.leaks += [
            BlindingFinding(one, f"at {where}", whose, NO_METADATA)
            for one, whose in told
        ]
        if found and method:
            self.sent.append(
                SentFile(
                    where,
                    group(answer.address),
                    method,
                    answer.headers,
                    facts,
                    found.unit.story.key,
                    found.parts(answer.address),
                )
            )

    def _take(self, found: Visit) -> None:
        """Check all responses of a slot."""
        seen = set()
        for answer in found.answers:
            where = found.plain(answer.address)
            if answer.is_media:
                where += f" of story {found.unit.story.key}"
            self._scan(answer, where, found)
            if answer.is_media:
                seen.add(found.output_at(answer.address))
        shown = " and ".join(map(_label, found.shown.values()))
        for language, page in zip(LANGUAGES, found.pages, strict=True):
            where, named = found.plain(page.address), f"pages ({language})"
            self.sent.append(SentFile(where, named, shown, page.headers))
        self._look_for_shared_addresses(found)
        self.page_counts.add(found)
        for output in found.shown.values():
            drawn = (
                output.video_id or output.frames.filter(media__isnull=False).exists()
            )
            if drawn and output not in seen:
                self.leaks.append(
                    BlindingFinding(
                        "none of its pictures or videos could be checked",
                        f"at {found.plain(found.answers[0].address)}",
                        _label(output),
                        "a page that links to the files that it shows",
                    )
                )

    def _look_for_shared_addresses(self, found: Visit) -> None:
        """Find picture addresses shared by two slots, apart from examples."""
        for code, addresses in found.loaded.items():
            for address in addresses:
                first = self.first_slots.setdefault(address, code)
                if first != code and group(address) != "example":
                    self.leaks.append(
                        BlindingFinding(
                            "two slots use the same picture address",
                            f"at {address}, in slots {first} and {code}",
                            _label(found.output_at(address)),
                            "addresses that contain the link and the code of one slot",
                        )
                    )

    def _compare(self) -> None:
        """Compare the responses of different methods."""
        numbers = list(self.page_counts.numbers())
        sizes = list(sent_files.compare_sizes(self.sent, self.box))
        sizes += [one for one in numbers if _SIZE.search(one.where)]
        self.leaks += [
            *sent_files.compare_headers(self.sent),
            *sent_files.compare_encoders(self.sent),
            *sent_files.telling_parts(self.sent),
            *self.page_counts.words(),
        ]
        if self.study.same_size:
            self.leaks += sizes
        else:
            self.warnings += sizes
        self.warnings += _odd_shapes(self.study)
        self.warnings += method_differences.compare_gaps(
            same_size.outputs_of(self.study)
        )
        self.warnings += sent_files.compare_videos(self.sent)
        self.warnings += [one for one in numbers if not _SIZE.search(one.where)]
        self.warnings += self._mentioned()

    def _mentioned(self) -> Iterator[BlindingFinding]:
        """Yield method names in the study's own texts."""
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
        names = sorted({one.text for one in self.scanner.telltales.common})
        if names:
            more = f" and {len(names) - MOST_NAMED} more" * (len(names) > MOST_NAMED)
            listed = ", ".join(names[:MOST_NAMED])
            self.report.notes.append(
                "These names are also words of the pages, single letters or numbers. "
                "They are reported only where they are more frequent for their own "
                f"method: {listed}{more}."
            )
        if not self.study.same_size:
            self.report.notes.append(
                "This study shows each method at its original size "
                "(presentation.same_size is false), so sizes are only warnings."
            )
        if not self.units:
            self.report.notes.append("The study has no units, so nothing was shown.")


def _label(output: Output | None) -> str:
    """Return the method of an output, marked if degraded; "" if it has none."""
    if output is None:
        return ""
    return output.method.name + " (degraded)" * (output.twin_of_id is not None)


def _odd_shapes(study: Study) -> Iterator[BlindingFinding]:
    """Yield findings on methods whose pictures have an unusual aspect ratio."""
    for note in same_size.aspect_ratio_notes(same_size.outputs_of(study)):
        what, right = note.text.removesuffix(".").rsplit(". ", 1)
        yield BlindingFinding(what, "in the edges around pictures", note.methods, right)


def choose_units(study: Study, slots: int | None) -> list[Unit]:
    """Return the units to check, which cover every method and kind of check."""
    units = list(
        study.units.select_related(
            "story", "study", *study.output_paths(below="__method")
        ).prefetch_related("story__shots", "story__characters")
    )
    if slots is None:
        return units
    random.Random(study.seed).shuffle(units)
    units.sort(key=lambda unit: (unit.purpose != Purpose.REAL, unit.story_id))
    lacking = Counter(
        {(unit.purpose, name): LEAST for unit in units for name in unit.methods}
    )
    chosen: list[Unit] = []
    for unit in units:
        shown = {(unit.purpose, name): 1 for name in unit.methods}
        is_real = unit.purpose == Purpose.REAL
        if (is_real and len(chosen) < slots) or any(lacking[key] > 0 for key in shown):
            chosen.append(unit)
            lacking.subtract(shown)
    return chosen
