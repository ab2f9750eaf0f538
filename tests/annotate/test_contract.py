"""The API against its contract: requests that schemathesis makes for each operation."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from django.test import Client
from django.urls import resolve, reverse
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.validation import validate_schema
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from annotate.api.contract import contract, contract_file
from tests.annotate.address_table import World, addresses
from tests.people import program

pytestmark = pytest.mark.django_db
CONTRACT = Path(__file__).parents[2] / "docs/reference/openapi.yaml"
SESSION = "/api/v1/session/"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
NEGATIVE = [*CHECKS, negative_data_rejection]


@pytest.fixture(autouse=True)
def open_connection():
    """Keep the test's connection open, as Django's own client does."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@dataclass
class Found:
    """Cases by kind, and failures with their operation."""

    cases: int = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.cases} cases, {len(self.failures)} failures\n" + "\n".join(
            self.failures
        )


def operations() -> Iterator[Any]:
    schema = schemathesis.openapi.from_wsgi("/api/v1/schema/", get_wsgi_application())
    for found in schema.get_all_operations():
        yield found.ok()


def explore(
    world: World,
    authorization: str,
    *,
    examples: int,
    wanted: Callable[[str], bool] = lambda path: not path.startswith(SESSION),
) -> Found:
    """Send made-up requests to each operation; what they change is rolled back."""
    found = Found()
    named = {one.name: one for one in addresses()}
    for operation in operations():
        if not wanted(operation.path):
            continue
        route = re.sub(r"{[^}]*(pk|id|number)}", "1", operation.path)
        route = route.replace("{table}", "cells" if "progress" in route else "ratings")
        name = resolve(re.sub("{[^}]*}", "a", route)).url_name
        known = world.words(named[name], "")
        for mode in GenerationMode:
            _try(found, operation, mode, known, authorization, examples)
    return found


def _try(
    found: Found,
    operation: Any,
    mode: GenerationMode,
    known: dict[str, object],
    authorization: str,
    examples: int,
) -> None:
    words = {"id" if name == "pk" else name: known[name] for name in known}
    # Numbers stand for other things in an address that is wrong on purpose.
    fixed = words if mode == GenerationMode.POSITIVE else {}
    strategy = operation.as_strategy(generation_mode=mode, path_parameters=fixed)

    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def send(case: Any) -> None:
        found.cases += 1
        checks = CHECKS if mode == GenerationMode.POSITIVE else NEGATIVE
        sent = {"Authorization": authorization} if authorization else {}
        case.headers = {**(case.headers or {}), **sent}
        with transaction.atomic():
            try:
                response = case.call()
                case.validate_response(response, checks=checks)
            except FailureGroup as failures:
                label = f"{mode.value} {operation.label}"
                found.failures += [
                    f"{label} {case.body!r:.300}: {one}" for one in failures.exceptions
                ]
            transaction.set_rollback(True)

    send()


def token_of(name: str) -> str:
    return program(name)._credentials["HTTP_AUTHORIZATION"]


def test_contract_file_is_up_to_date():
    """`manage.py spectacular --file docs/reference/openapi.yaml` writes it."""
    assert CONTRACT.read_bytes() == contract_file()
    assert not GENERATOR_STATS, "there were warnings"
    validate_schema(contract())


def test_documentation_shows_every_operation():
    page = Client().get(reverse("api-docs")).content.decode()
    names = re.findall("operationId: (.*)", CONTRACT.read_text())
    assert len(names) == len(set(names)) > 90
    for name in names:
        assert f'id="{name}"' in page, name
    assert "http://" not in page.replace("http://127.0.0.1", "")


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", ["sue", "alice", "rob", ""])
def test_operations_follow_the_contract(tmp_path, name, capsys):
    """A manager of everything, an owner and manager, a researcher, nobody."""
    world = World(tmp_path)
    found = explore(
        world,
        token_of(name) if name else "",
        examples=int(os.environ.get("EXAMPLES", 5)),
    )
    with capsys.disabled():
        print(
            f"\n{name or 'nobody'}: {found.cases} cases, {len(found.failures)} failures"
        )
    assert found.cases > 200
    if found.failures:
        pytest.fail(str(found))


@pytest.mark.slow
def test_session_follows_the_contract(tmp_path, capsys):
    world = World(tmp_path)
    found = explore(
        world,
        f"Invitation {world.ann.invitation.token}",
        examples=int(os.environ.get("EXAMPLES", 25)),
        wanted=lambda path: path.startswith(SESSION),
    )
    with capsys.disabled():
        print(f"\nannotator: {found.cases} cases, {len(found.failures)} failures")
    assert found.cases > 300
    if found.failures:
        pytest.fail(str(found))
