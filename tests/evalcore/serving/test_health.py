import pytest
from django.test import override_settings

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]


def test_it_works(client):
    response = client.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {"status": "ok"}


@override_settings(ALLOWED_HOSTS=["lab.example.org"], SECURE_SSL_REDIRECT=True)
def test_a_probe_needs_neither_the_host_name_nor_https(client):
    assert client.get("/healthz", headers={"host": "10.0.0.7"}).status_code == 200
    assert client.get("/", headers={"host": "10.0.0.7"}).status_code == 400


def test_it_only_reads(client):
    assert client.post("/healthz").status_code == 405
