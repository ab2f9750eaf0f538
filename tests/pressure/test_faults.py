"""Two of the faults, small, in this process: a bad network, and a power cut."""

import random
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection, transaction

from tests.pressure import bad_network, power_cut, rater
from tests.pressure.audit import witnessed
from tests.pressure.grids import add_people, make_grid
from tests.serving import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
PEOPLE = 3


@contextmanager
def at_work(study, port, monkeypatch):
    """Let people rate who think quickly; nobody is at work afterwards."""
    monkeypatch.setattr(rater, "THINKING", 0.01)
    monkeypatch.setattr(rater, "PATIENCE", 0.02)
    links = [person.invitation.token for person in add_people(study, PEOPLE)]
    raters = [rater.Rater(port, link, patience=5) for link in links]
    for one in raters:
        one.start()
    try:
        yield raters
    finally:
        for one in raters:
            one.over.set()
        for one in raters:
            one.join(30)


def acknowledged(raters):
    return [one for each in raters for one in each.acknowledged.copy()]


def test_bad_network_loses_and_doubles_nothing(live_server, monkeypatch):
    study = make_grid("network", stories=60, methods=1, redundancy=2)
    monkeypatch.setattr(bad_network, "VERY_LATE", (0.05, 0.3))  # people are quick here
    network = bad_network.BadNetwork(live_server.thread.port, random.Random(1))
    network.start()
    try:
        with at_work(study, network.port, monkeypatch) as raters:
            wait_until(lambda: len(acknowledged(raters)) > 10, 60, "answers")
            network.ail()
            wait_until(lambda: network.met["given up"] > 12, 60, "a bad network")
            network.heal()
    finally:
        network.stop()
    found = witnessed(study, acknowledged(raters))
    assert (found.lost, found.twice, found.over, found.verify) == ([], [], [], [])


def test_power_cut_leaves_what_was_acknowledged(live_server, monkeypatch, tmp_path):
    if connection.vendor != "sqlite":
        pytest.skip("looks into SQLite's files")
    study = make_grid("power", stories=60, methods=1, redundancy=2)
    database, dice = Path(connection.settings_dict["NAME"]), random.Random(1)
    with at_work(study, live_server.thread.port, monkeypatch) as raters:
        for number in range(1, 6):
            wait_until(lambda: len(acknowledged(raters)) > 10 * number, 60, "answers")  # noqa: B023
            told = acknowledged(raters)
            with transaction.atomic():  # nobody else writes meanwhile
                power_cut.copy_files(database, tmp_path, dice)
            copy = tmp_path / database.name
            power_cut.tear(copy, dice)
            assert power_cut.missing(copy, told) == []
