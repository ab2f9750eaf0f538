"""Write tests/annotate/addresses.md: every address, requested as every visitor.

    python -m tests.annotate.address_table

uses a database made for it. A test requests every address again and compares the
answers with that page.
"""

import logging
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")
    django.setup()

from django.contrib.admindocs.views import simplify_regex
from django.core import signing
from django.db import transaction
from django.db.models import Model
from django.test import Client
from django.test.utils import (
    override_settings,
    setup_databases,
    setup_test_environment,
    teardown_databases,
)
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from annotate.access import accounts
from annotate.api.urls import api_urls
from annotate.bundles import exports
from annotate.models import (
    Annotator,
    ApiToken,
    Export,
    Flag,
    Invitation,
    JoinLink,
    PublicReport,
    Rehearsal,
    Report,
    Slot,
    Study,
    StudyPlan,
    Unit,
    Upload,
    User,
    Visit,
    Webhook,
)
from annotate.pages.manage.pictures import SALT
from annotate.quality import exclusion
from annotate.rehearsal import queue as rehearsals
from annotate.reports import building
from annotate.responses.bulk import SlotAnswers, store_judgements
from annotate.studies import drafting
from annotate.studies.planning import Setup
from annotate.studies.study_file import load_definition
from annotate.uploads import storage
from annotate.webhooks import managing
from evalcore.models import BenchmarkMember, MetricScore, Output
from evalcore.perturbations.degraded_copies import make_perturbation
from evalcore.scoring import metric_runs
from evalcore.scoring.identities import Identities
from evalcore.serving import first_start
from evalcore.serving.health import PROBES
from tests.annotate.pages.test_videos import video_benchmark
from tests.factories import make_benchmark, make_study
from tests.people import log_in, program

PAGE = Path(__file__).with_name("addresses.md")

OPENS, LOGIN, REFUSED, HIDDEN, GONE, NEVER = (
    "opens",
    "log in",
    "refused",
    "hidden",
    "gone",
    "–",
)


@dataclass(frozen=True)
class Address:
    """A pattern of the resolver: its name, route and the words in it."""

    name: str
    route: str
    words: tuple[str, ...]

    @property
    def shown(self) -> str:
        """Return the route as the page shows it."""
        route = re.sub(r"<\w+:", "<", simplify_regex(self.route))
        return f"`{route}`"

    @property
    def is_api(self) -> bool:
        return self.route.startswith("api/")

    @property
    def page(self) -> str:
        """Return the name of the page for the same, if the address is the API's."""
        return self.name.removeprefix("api-")

    @property
    def is_link(self) -> bool:
        """Say whether the address is that of an annotator."""
        return self.route.startswith(("rate/", "join/"))

    def url(self, words: dict[str, object]) -> str:
        """Return the URL; an address without a name has no words."""
        return reverse(self.name, kwargs=words) if self.name else f"/{self.route}"


def addresses() -> list[Address]:
    """Return every address of the site.

    Probes are answered before the resolver is asked, and have no name.
    """
    probes = (Address("", path.removeprefix("/"), ()) for path in PROBES)
    return [*_walk(get_resolver(), ""), *probes]


def _walk(resolver: URLResolver, before: str) -> Iterator[Address]:
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern).removeprefix("^").removesuffix("$")
        if isinstance(pattern, URLPattern):
            words = tuple(pattern.pattern.converters) or tuple(
                pattern.pattern.regex.groupindex
            )
            yield Address(pattern.name or "", route, words)
        else:
            yield from _walk(pattern, route)


class World:
    """Two labs: Alice's and Rob's with three studies, and Eve's with one."""

    def __init__(self, folder: Path):
        woods = make_benchmark(stories=1, shots=1)
        character = woods.stories.get().characters.create(key="fox")
        picture = woods.stories.get().outputs.first().frames.get().media
        character.images.create(ordinal=1, media=picture)
        self.trial = make_study(benchmark=woods, consented=True)
        self.reel = make_study(
            kind="choice",
            slug="reel",
            consented=True,
            benchmark=video_benchmark(folder, methods=("Dogwood", "Elm")),
        )
        self._illustrate()
        log_in("alice", self.trial, "manager")
        author = User.objects.get(username="alice")
        definition = load_definition("storybench-side-by-side")
        self.draft = drafting.create(Setup("draft", woods, definition, 3), author)
        for study in (self.trial, self.reel, self.draft):
            log_in("alice", study, "manager")
            log_in("carol", study, "manager")
            log_in("rob", study, "researcher")
            BenchmarkMember.objects.get_or_create(
                benchmark=study.benchmark, user=author, role="owner"
            )
        self.hills = make_study(
            benchmark=make_benchmark(slug="hills", stories=1, shots=1),
            slug="hills",
            consented=True,
        )
        log_in("eve", self.hills, "manager")
        User.objects.create(username="sue", is_superuser=True, is_staff=True)
        Annotator.objects.update(instructed_at=timezone.now())
        self.ann, _bob = self.trial.annotators.order_by("name")
        self.practised = self.ann.slots.last()
        Unit.objects.filter(pk=self.practised.unit_id).update(purpose="training")
        Slot.objects.filter(pk=self.practised.pk).update(
            state="submitted",
            purpose="training",
            submitted_at=timezone.now(),
            started_at=timezone.now(),
            ordinal=None,
        )
        self.excluded = self.trial.slots.filter(annotator__name="A02")[1]
        answers = dict.fromkeys(self.trial.questions.all(), 3)
        store_judgements([SlotAnswers(self.excluded, answers, timezone.now(), 20.0)])
        exclusion.exclude(self.excluded, reason="asleep", author=None)
        for study in (self.trial, self.reel):
            Invitation.objects.create(
                annotator=study.annotators.create(name="A09", state="revoked"),
                revoked_at=timezone.now(),
            )
        self.join_link = JoinLink.objects.create(study=self.trial, most=9)
        self.visit = Visit.objects.create(annotator=self.ann, browser="x")
        JoinLink.objects.create(study=self.hills, most=9)
        self.hills.annotators.create(name="A08", state="planned")
        JoinLink.objects.create(study=self.trial, most=9, closed_at=timezone.now())
        self.flag = Flag.objects.create(
            annotator=self.ann, rule="r", signal="flat", action="note", n=1, text="t"
        )
        self.run = metric_runs.queue_run(woods, ["sharpness"])
        method = woods.stories.get().outputs.first().method
        woods.metric_scores.create(
            run=self.run, method=method, metric="sharpness", value=1
        )
        self.token, _secret = ApiToken.issue(user=author, name="CI", scope="read")
        self.report = Report.objects.create(study=self.trial, state="done")
        self.export = Export.objects.create(
            study=self.trial, view=self.report.view, state="done", name="tables.zip"
        )
        file = exports.path_of(self.export)
        file.parent.mkdir(parents=True)
        file.write_bytes(b"")
        self.plan = StudyPlan.objects.create(
            benchmark=woods, action="check", created_by=author, chosen={"slug": "large"}
        )
        self.upload = Upload.objects.create(
            created_by=author, name="mine", stage="inspect", state="done"
        )
        drawn = storage.thumbs_folder(self.upload)
        drawn.mkdir(parents=True)
        (drawn / "1.webp").write_bytes(b"")
        sue = User.objects.get(username="sue")
        self.password_link = accounts.issue_link(sue, by=sue)
        rehearsal = Rehearsal.objects.create(study=self.trial, state="done")
        rehearsed = rehearsals.folder(rehearsal.pk) / rehearsals.REPORT
        rehearsed.parent.mkdir(parents=True)
        rehearsed.write_text("<main></main>")
        kept = building.folder(self.report)
        kept.mkdir(parents=True)
        (kept / "report.html").write_text("<main></main>")
        (kept / "report.json").write_text("{}")
        (kept / "public-data.zip").write_bytes(b"")
        (kept / "public-report.html").write_text("<main></main>")
        PublicReport.objects.create(
            report=self.report,
            name="paper",
            policy="default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
            with_data=True,
            data_event=1,
        )
        self.webhook = Webhook.objects.create(study=self.trial, address="https://x.org")
        self.delivery = managing.test(self.webhook)

    def _illustrate(self) -> None:
        """Give the first question of the trial a pictured example."""
        question = self.trial.questions.first()
        original = self.trial.benchmark.stories.get().outputs.first()
        question.degradation, question.example_shots = "blurred", [[1, True, 1]]
        question.example = make_perturbation(original, question.degradation, seed=1)
        question.save()

    def study(self, address: Address) -> Study:
        """Return the study that has what the address shows."""
        if "video" in address.route or "still" in address.route:
            return self.reel
        return self.draft if address.page in ABOUT_THE_FILE else self.trial

    def words(self, address: Address, token: str) -> dict[str, object]:
        """Return the words of the address, for Alice's studies and Ann's story."""
        study = self.study(address)
        slot = study.slots.filter(annotator__name="A01").first()
        slot = {"rate-feedback": self.practised, "slot-restore": self.excluded}.get(
            address.page, slot
        )
        output = slot.unit.output_a
        # Each is asked for only where an address has it.
        rows: dict[str, Callable[[], Model | None]] = {
            "annotator": lambda: self.ann,
            "flag": lambda: self.flag,
            "unit": lambda: slot.unit,
            "join-link": lambda: self.join_link,
            "public-link": lambda: self.join_link,
            "token": lambda: self.token,
            "run": lambda: self.run,
            "benchmark-member": lambda: study.benchmark.members.first(),
            "output": lambda: output,
            "report": lambda: self.report,
            "export": lambda: self.export,
            "webhook": lambda: self.webhook,
            "plan": lambda: self.plan,
            "visit": lambda: self.visit,
            "upload": lambda: self.upload,
            "account": lambda: User.objects.get(username="eve"),
            "study-member": lambda: study.members.get(user__username="rob"),
            "frame": lambda: output.frames.first(),
            "member": lambda: (
                study.members.get(user__username="rob")
                if address.is_api
                else study.benchmark.members.first()
            ),
        }
        kind = next((kind for kind in rows if address.page.startswith(kind)), "")
        side = "left" if slot.unit.output_b else "only"
        preview = address.name.startswith("preview-")
        known = {
            "slug": (study.benchmark if "benchmarks/" in address.route else study).slug,
            "benchmark": study.benchmark.slug,
            "token": self._token(address, token),
            "code": output.pk if preview else slot.code,
            "side": "only" if preview else side,
            "number": 1,
            "kind": "csv",
            "index": 0,
            "question": 1,
            "which": "bad",
            "rendition": "thumb",
            "pk": rows[kind]().pk if kind and "pk" in address.words else 0,
            "delivery_pk": self.delivery.pk,
            "offer": "offer" in address.words
            and signing.dumps([output.pk, 1, "", _shown(output)], salt=SALT),
            "run": self.run.pk,
            "action": "link" if address.name == "account-change" else "pause",
            "table": (
                "cells"
                if "coverage" in address.name or "progress/" in address.route
                else "ratings"
            ),
            "name": {
                "documentation-file": "index.html",
                "annotator-file": "people",
                "people-file": "people",
                "public-report": "paper",
                "public-data": "paper",
            }.get(address.page, "report.json"),
        }
        return {word: known[word] for word in address.words}

    def _token(self, address: Address, link: str) -> str:
        """Return the token of the address: of the public link, for joining."""
        if address.name.startswith("preview-"):
            return self.study(address).benchmark.slug
        if address.name == "first-start":
            return first_start.new_token()
        if address.name == "password-link":
            return self.password_link
        known = Invitation.objects.filter(token=link).first()
        if address.name != "join" or known is None:
            return link
        is_open = known.revoked_at is None
        of_study = JoinLink.objects.filter(study=known.annotator.study)
        return of_study.get(closed_at__isnull=is_open).token


def _shown(output: Output) -> str:
    """Return the checksum of a picture or video of an output."""
    return str(output.video_id or output.frames.get(number=1).media_id)


ABOUT_THE_FILE = (
    "file",
    "texts",
    "preview",
    "study-edit",
    "study-version",
    "study-file",
    "study-preview",
)


@dataclass(frozen=True)
class Visitor:
    """A visitor: a browser or program, and the link of a study that it has."""

    client: Client
    link: Callable[[Study], str] = lambda study: ""


ACCOUNTS = {
    "other lab's manager": "eve",
    "researcher": "rob",
    "manager": "carol",
    "and owner of the benchmark": "alice",
    "manager of everything": "sue",
}


def account_visitors(world: World) -> dict[str, Visitor]:
    logged_in = {title: Visitor(log_in(name)) for title, name in ACCOUNTS.items()}
    return {"nobody": Visitor(Client()), **logged_in}


def links(world: World) -> dict[str, Callable[[Study], str]]:
    def of(name: str) -> Callable[[Study], str]:
        return lambda study: study.annotators.get(name=name).invitation.token

    return {
        "no link": lambda study: "x" * 24,
        "revoked link": of("A09"),
        "other study's link": lambda study: of("A01")(world.hills),
        "other annotator's link": of("A02"),
        "own link": of("A01"),
    }


def link_visitors(world: World) -> dict[str, Visitor]:
    return {title: Visitor(Client(), link) for title, link in links(world).items()}


def api_visitors(world: World) -> dict[str, Visitor]:
    return {
        "nobody": Visitor(Client()),
        **{title: Visitor(program(name)) for title, name in ACCOUNTS.items()},
        **{
            title: Visitor(
                Client(headers={"Authorization": f"Invitation {link(world.trial)}"})
            )
            for title, link in links(world).items()
        },
    }


TABLES = {
    "Pages for accounts": (
        account_visitors,
        lambda one: not one.is_link and not one.is_api,
    ),
    "Pages behind an annotator's link": (link_visitors, lambda one: one.is_link),
    "The API": (api_visitors, lambda one: one.is_api),
}
DENIED = {401: LOGIN, 403: REFUSED, 404: HIDDEN, 410: GONE, 405: NEVER}


FORM = {"annotator": "A01", "view": "main", "key": "main"}  # what views look up


def query_of(address: Address) -> str:
    """Return what stands behind an address."""
    if address.name == "output-detail":
        output = Output.objects.select_related("story", "method").order_by("pk")[0]
        named = {"story": output.story.key, "method": output.method.name}
    elif address.name == "metric-values":
        score = MetricScore.objects.order_by("pk")[0]
        named = {"metric": score.metric, "identity": Identities().of_row(score).key}
    else:
        return ""
    return f"?{urlencode(named)}"


def ask(client: Client, method: str, url: str) -> str:
    """Ask for an address, undo what it did, and say in a word what came of it."""
    if "/api/" in url or url.endswith("/save/"):
        body, kind = '{"rows": []}', "application/json"
    else:
        body, kind = urlencode(FORM), "application/x-www-form-urlencoded"
    cookies = client.cookies.copy()
    with transaction.atomic():
        response = client.generic(method, url, body, kind)
        transaction.set_rollback(True)
    client.cookies = cookies
    if response.status_code == 302 and "/login/" in response["Location"]:
        return LOGIN
    assert response.status_code < 500, (method, url, response.status_code)
    if response.status_code == 409 and url.startswith("/join/"):
        return REFUSED
    return DENIED.get(response.status_code, OPENS)


Known = Mapping[tuple[str, str, str], Mapping[str, str]]


def observed(
    world: World, asked: Collection[str] = (), known: Known | None = None
) -> dict[str, list[dict[str, str]]]:
    """Return the rows of every table: address, method, and a word for each visitor.

    With `asked`, only these visitors come. Nobody asks for what is `known` to open, and
    of a known address nobody uses a method that opens it to nobody.
    """
    tables = {}
    for title, (visitors, belongs) in TABLES.items():
        come = {
            name: visitor
            for name, visitor in visitors(world).items()
            if not asked or name in asked
        }
        tables[title] = [
            row
            for address in sorted(filter(belongs, addresses()), key=lambda a: a.route)
            for row in _rows(world, address, come, title, known or {})
        ]
    return tables


def _rows(
    world: World,
    address: Address,
    visitors: dict[str, Visitor],
    table: str,
    known: Known,
) -> list[dict[str, str]]:
    """Return a row for each method that the address takes."""
    study, rows = world.study(address), []
    links = {visitor.link(study) for visitor in visitors.values()}
    named = {link: world.words(address, link) for link in links}
    shown, methods = address.shown, _methods(address)
    for method in [one for one in methods if (table, one, shown) in known] or methods:
        told, words = known.get((table, method, shown), {}), {}
        for title, visitor in visitors.items():
            if told.get(title) != OPENS:
                url = address.url(named[visitor.link(study)]) + query_of(address)
                words[title] = ask(visitor.client, method, url)
        rows.append({"address": shown, "does": method, **words})
    return rows


def _methods(address: Address) -> list[str]:
    """Return the methods to request: of the API, those that the view has."""
    if not address.is_api:
        return ["GET", "POST"]
    pattern = next(one for one in api_urls if one.name == address.name)
    view = getattr(pattern.callback, "cls", None)
    every = ("GET", "POST", "PUT", "PATCH", "DELETE")
    return [one for one in every if hasattr(view, one.lower())] or ["GET"]


INTRODUCTION = """# Access to every address

Written by `python -m tests.annotate.address_table`. Accounts are a manager of
everything; the managers and the researcher of the study in the address (one
manager owns its benchmark, the other has no right to it); and a manager of
another lab's study.

An annotator has no account: the personal link is the identity, and an address
below it without a story's code is that of its own annotator. Among public
links, *no link* was never made, *revoked* is closed, and *other study's*
belongs to the other lab.

- opens: the page, or its message about missing input
- log in: redirected to the login, or 401
- refused: 403, or 409 when joining
- hidden: 404, as if there were nothing
- gone: 410
- –: the method is not used there
"""


def page(tables: dict[str, list[dict[str, str]]]) -> str:
    """Return the page; addresses with the same answers share a row.

    Methods that open an address to nobody are not used there.
    """
    parts = [INTRODUCTION]
    for title, rows in tables.items():
        _, _, *visitors = rows[0]
        used = [row for row in rows if OPENS in row.values()]
        closed = {row["address"] for row in rows} - {row["address"] for row in used}
        assert not closed, f"these open to nobody: {closed}"
        same: dict[tuple[str, ...], dict[str, list[str]]] = {}
        for row in used:
            address, method, *words = row.values()
            methods = same.setdefault(tuple(words), {})
            methods.setdefault(method, []).append(address)
        parts += [f"## {title}\n", _row(["address", *visitors])]
        parts.append("|---" * (len(visitors) + 1) + "|")
        for words, methods in same.items():
            where = [f"{method} {', '.join(them)}" for method, them in methods.items()]
            parts.append(_row(["; ".join(where), *words]))
        parts.append("")
    return "\n".join(parts)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def documented() -> dict[tuple[str, str, str], dict[str, str]]:
    """Return what the page says, by table, method and address."""
    found = {}
    for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, head, _, *rows = part.strip().splitlines()
        _, *visitors = _cells(head)
        for row in rows:
            where, *words = _cells(row)
            for one in where.split("; "):
                method, _, them = one.partition(" ")
                for address in them.split(", "):
                    told = dict(zip(visitors, words, strict=True))
                    found[title, method, address] = told
    return found


def _cells(row: str) -> list[str]:
    return row.removeprefix("| ").removesuffix(" |").split(" | ")


def main() -> None:
    """Write the page, from a database and folders made for it."""
    logging.disable()  # what is refused is asked for on purpose
    setup_test_environment()
    databases = setup_databases(verbosity=0, interactive=False)
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            override_settings(
                DATA_DIR=Path(folder),
                MEDIA_ROOT=Path(folder, "media"),
                REPORTS_ROOT=Path(folder, "reports"),
            ),
            transaction.atomic(),
        ):
            PAGE.write_text(page(observed(World(Path(folder)))), encoding="utf-8")
    finally:
        teardown_databases(databases, verbosity=0)


if __name__ == "__main__":
    main()
