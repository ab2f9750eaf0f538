"""Other machines are refused while no address for them is set."""

import pytest

from evalcore.serving.environment import LOCAL_HOSTS

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_named(settings):
    settings.BASE_URL, settings.ALLOWED_HOSTS = "", list(LOCAL_HOSTS)


def ask(client, peer: str, address: str = "/login/") -> int:
    return client.get(address, REMOTE_ADDR=peer, HTTP_HOST="localhost").status_code


@pytest.mark.parametrize(
    "peer", ["192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "localhost"]
)
def test_remote_request_is_refused_when_it_names_this_machine(client, peer):
    """Attack: gunicorn listens for everybody, and a request names localhost."""
    assert ask(client, peer) == 403
    assert ask(client, peer, "/healthz") == 200


@pytest.mark.parametrize(
    "peer", ["127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1", ""]
)
def test_local_request_is_accepted(client, peer):
    assert ask(client, peer) == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [("BASE_URL", "http://localhost:8000"), ("ALLOWED_HOSTS", ["localhost", "lab"])],
)
def test_other_machines_are_served_when_an_address_is_configured(
    client, settings, name, value
):
    setattr(settings, name, value)
    assert ask(client, "192.0.2.1") == 200
