"""Signatures, deadlines, and addresses that no message is sent to."""

import socket
import ssl
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from annotate.webhooks import addresses, sending
from annotate.webhooks.addresses import AddressError, is_public, target
from annotate.webhooks.sending import NotSentError, post, signature
from tests.annotate.webhooks.receiving import receiver

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def allowed(settings):
    settings.WEBHOOK_ALLOW = [ip_network("127.0.0.0/8")]


def resolve_to(monkeypatch, *answers):
    """Let the resolver give one answer after another, the last one for ever."""
    left, asked = [*answers], []

    def getaddrinfo(host, port, **_how):
        asked.append(host)
        places = left.pop(0) if len(left) > 1 else left[0]
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (place, port))
            for place in places
        ]

    monkeypatch.setattr(addresses.socket, "getaddrinfo", getaddrinfo)
    return asked


def test_signature_is_that_of_standard_webhooks():
    """The values are from the tests of its own Python library."""
    assert (
        signature(
            SECRET,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1614265330,
            b'{"test": 2432232314}',
        )
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


@pytest.mark.parametrize(
    "place",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "0.0.0.0", "224.0.1.1", "240.0.0.1", "255.255.255.255",
        "198.18.0.1", "192.0.2.1", "::", "::1", "fe80::1", "fc00::1", "fec0::1",
        "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::7f00:1",
        "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:a9fe:a9fe::1", "2001:db8::1",
        "2001::1", "100::1",
    ],
)  # fmt: skip
def test_private_and_special_addresses_are_not_public(place):
    assert not is_public(ip_address(place))


@pytest.mark.parametrize(
    "place", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]
)
def test_addresses_of_the_internet_are_public(place):
    assert is_public(ip_address(place))


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("https://169.254.169.254/latest/", "private network"),
        ("https://127.1/", "private network"),
        ("https://2130706433/", "private network"),
        ("https://0x7f.1/", "private network"),
        ("https://[::1]:8000/", "private network"),
        ("https://[::ffff:10.0.0.1]/", "private network"),
        ("https://localhost/", "private network"),
        ("http://8.8.8.8/", "https://"),
        ("https://8.8.8.8:25/", "Port 25"),
        ("https://8.8.8.8:70000/", "65535"),
        ("https://me:pw@8.8.8.8/", "password"),
        ("https://8.8.8.8/#part", "password"),
        ("ftp://8.8.8.8/", "whole address"),
        ("https://", "whole address"),
        ("lab.example.org", "whole address"),
        ("https://nothing.invalid/", "not found"),
    ],
)
def test_address_is_refused(address, why, monkeypatch):
    if address.endswith(".invalid/"):
        resolve_to(monkeypatch, ())
        monkeypatch.setattr(
            addresses.socket, "getaddrinfo", _raise(socket.gaierror("unknown"))
        )
    with pytest.raises(AddressError, match=why):
        target(address)


def _raise(error):
    def raising(*_args, **_how):
        raise error

    return raising


@pytest.mark.parametrize("places", [("10.0.0.7",), ("8.8.8.8", "127.0.0.1")])
def test_host_is_refused_when_any_of_its_addresses_is_private(places, monkeypatch):
    resolve_to(monkeypatch, places)
    with pytest.raises(AddressError, match="private network"):
        target("https://hook.example.org/")


def test_slow_look_up_is_given_up(monkeypatch):
    monkeypatch.setattr(addresses, "LOOKUP_SECONDS", 0.05)
    monkeypatch.setattr(
        addresses.socket, "getaddrinfo", lambda *_args, **_how: time.sleep(0.3)
    )
    began = time.monotonic()
    with pytest.raises(AddressError, match="not found"):
        target("https://hook.example.org/")
    assert time.monotonic() - began < 0.25


def test_connection_goes_to_the_checked_address(monkeypatch, allowed):
    """A resolver that answers otherwise the second time is not asked again."""
    asked = resolve_to(monkeypatch, ("127.0.0.1",), ("10.9.9.9",))
    with receiver() as server:
        address = f"http://hook.example.org:{server.server_port}/hook"
        assert post(address, SECRET, "msg_1", "{}") == 204
    assert asked == ["hook.example.org"]
    ((_path, headers, _body),) = server.received
    assert headers["Host"] == f"hook.example.org:{server.server_port}"


def test_next_address_is_tried_when_one_refuses(monkeypatch, allowed):
    resolve_to(monkeypatch, ("127.0.0.9", "127.0.0.1"))
    with receiver() as server:
        address = f"http://hook.example.org:{server.server_port}/"
        assert post(address, SECRET, "msg_1", "{}") == 204


def test_redirect_is_not_followed(allowed):
    to = {"Location": "http://169.254.169.254/latest/meta-data/"}
    with receiver(status=302, headers=to) as server:
        assert post(server.address, SECRET, "msg_1", "{}") == 302
    assert len(server.received) == 1


def test_reply_without_end_is_cut(allowed, monkeypatch):
    monkeypatch.setattr(sending, "DEADLINE", 0.5)
    with receiver(drip="headers") as server:
        began = time.monotonic()
        with pytest.raises(NotSentError, match="no reply within"):
            post(server.address, SECRET, "msg_1", "{}")
        assert time.monotonic() - began < 1.5
    with receiver(drip="body") as server:
        assert post(server.address, SECRET, "msg_1", "{}") == 204


def test_closed_port_is_reported(allowed):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(NotSentError, match="connect"):
        post(f"http://127.0.0.1:{port}/", SECRET, "msg_1", "{}")


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    """A server's certificate for hook.example.org, which senders trust."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hook.example.org")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("hook.example.org")]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "both.pem"
    path.write_bytes(
        key.private_bytes(
            Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
        )
        + made.public_bytes(Encoding.PEM)
    )
    trusting = ssl.create_default_context(cafile=path)
    monkeypatch.setattr(sending, "_certificates", lambda: trusting)
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(path)
    return own


def test_certificate_is_that_of_the_host_not_of_its_address(
    monkeypatch, allowed, certificate
):
    resolve_to(monkeypatch, ("127.0.0.1",))
    named = []
    certificate.sni_callback = lambda _socket, name, _context: named.append(name)
    with receiver() as server:
        server.socket = certificate.wrap_socket(server.socket, server_side=True)
        port = server.server_port
        sent = post(f"https://hook.example.org:{port}/", SECRET, "msg_1", "{}")
        assert sent == 204
        with pytest.raises(NotSentError, match=r"[Cc]ertificate|CERTIFICATE"):
            post(f"https://other.example.org:{port}/", SECRET, "msg_1", "{}")
    assert named == ["hook.example.org", "other.example.org"]
