"""The documentation inside the product."""

import pytest
from django.urls import reverse

pytestmark = pytest.mark.django_db


@pytest.fixture
def built(tmp_path, settings):
    """A documentation of two pages, with a secret beside its folder."""
    folder = tmp_path / "html"
    (folder / "tutorials").mkdir(parents=True)
    (folder / "index.html").write_text("<h1>Plumbline</h1>")
    (folder / "tutorials" / "index.html").write_text("<h1>Tutorials</h1>")
    (tmp_path / "secret_key").write_text("secret")
    settings.DOCUMENTATION_ROOT = folder
    return folder


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("", "Plumbline"),
        ("index.html", "Plumbline"),
        ("tutorials/", "Tutorials"),
        ("tutorials/index.html", "Tutorials"),
    ],
)
def test_page_is_served_under_the_policy_of_the_product(client, built, address, text):
    response = client.get(reverse("documentation") + address)
    assert text in b"".join(response.streaming_content).decode()
    assert response["Content-Type"].startswith("text/html")
    policy = response["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "address",
    [
        "../secret_key",
        "%2e%2e/secret_key",
        "tutorials/../../secret_key",
        "/etc/passwd",
        "x" * 300,
    ],
)
def test_file_outside_the_documentation_is_hidden(client, built, address):
    assert client.get(reverse("documentation") + address).status_code == 404


@pytest.mark.parametrize("address", ["tutorials", "nothing.html"])
def test_missing_page_is_not_found(client, built, address):
    assert client.get(reverse("documentation") + address).status_code == 404


def test_page_says_how_to_build_documentation(client, tmp_path, settings):
    settings.DOCUMENTATION_ROOT = tmp_path / "html"
    for address in ("", "tutorials/index.html"):
        page = client.get(reverse("documentation") + address).content.decode()
        assert "<code>make docs</code>" in page


def test_front_page_links_documentation(client):
    assert f'href="{reverse("documentation")}"' in client.get("/").content.decode()
