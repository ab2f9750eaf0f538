"""The first start of a server: account, address and the three steps."""

from urllib.parse import urlencode

import pytest
from django.core import signing
from django.test import Client
from django.urls import reverse

from annotate.access import server_address
from annotate.models import Annotator, ServerAddress, User
from evalcore.serving import first_start
from evalcore.serving.environment import LOCAL_HOSTS
from tests.factories import make_benchmark, make_study
from tests.people import log_in

pytestmark = pytest.mark.django_db
PASSWORD = "nobody-guesses-this"
GIVEN = {"username": "alice", "password1": PASSWORD, "password2": PASSWORD}
ADDRESS = "https://study.example.org"


def link() -> str:
    return reverse("first-start", args=[first_start.new_token()])


def test_first_visitor_with_the_link_becomes_manager_of_every_study(client):
    assert "prints a link" in client.get("/").text
    answer = client.post(link(), GIVEN | {"address": f"{ADDRESS}/"}, follow=True)
    assert "Your first study" in answer.text
    user = User.objects.get()
    assert (user.username, user.is_superuser) == ("alice", True)
    assert server_address.server_address() == ADDRESS
    assert "prints a link" not in Client().get("/").text


def test_local_visitor_without_the_link_creates_no_account(client, monkeypatch):
    """Attack: behind a proxy everybody comes from 127.0.0.1; links are guessed."""
    old = link()
    forged = signing.dumps("first account", salt="another salt")
    for token in ("x" * 24, forged, first_start.new_token()[:-1]):
        url = reverse("first-start", args=[token])
        assert client.post(url, GIVEN, REMOTE_ADDR="127.0.0.1").status_code == 404
    assert not User.objects.exists()
    assert client.get(old).status_code == 200
    monkeypatch.setattr(first_start, "HOURS", -1)
    assert client.get(old).status_code == 404


def test_link_is_worthless_once_there_is_an_account(client):
    """Attack: a reader of an old log, also one who has the form open."""
    url = link()
    client.post(url, GIVEN)
    answer = Client().post(url, GIVEN | {"username": "eve"})
    assert "already has an account" in answer.text
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("username", "a b", "valid username"),
        ("password1", "password", "match"),
        ("address", "study example", "is not an address"),
        ("address", "https://study.example.org/path", "is not an address"),
        ("address", "javascript:alert(1)", "is not an address"),
    ],
)
def test_bad_first_account_leaves_nothing(client, field, value, problem):
    assert problem in client.post(link(), GIVEN | {field: value}).text
    assert not User.objects.exists()
    assert not ServerAddress.objects.exists()


@pytest.fixture
def sue():
    User.objects.create_superuser("sue")
    return log_in("sue")


@pytest.mark.slow
def test_links_warn_until_the_address_is_entered(sue, settings):
    settings.ALLOWED_HOSTS = ["testserver", *LOCAL_HOSTS]
    study = make_study()
    for name in ("study-recruitment", "annotator-list"):
        page = reverse(name, args=[study.slug])
        local = sue.get(page, headers={"host": "127.0.0.1:8000"}).text
        assert "work on this machine only" in local
    saved = sue.post(
        reverse("server-address"), {"address": ADDRESS, "next": page}, follow=True
    )
    assert saved.request["PATH_INFO"] == page
    assert "work on this machine only" not in saved.text
    assert f"{ADDRESS}/rate/" in saved.text


@pytest.mark.slow
def test_progress_leads_superusers_to_the_address(sue, settings):
    settings.ALLOWED_HOSTS = ["testserver", *LOCAL_HOSTS]
    study = make_study()
    page = reverse("study-detail", args=[study.slug])
    asked = urlencode({"next": page})
    link = f'href="{reverse("server-address")}?{asked}"'
    headers = {"host": "127.0.0.1:8000"}
    advice = "A manager of every study can set"
    own = sue.get(page, headers=headers).text
    assert (link in own, advice in own) == (True, False)
    shown = log_in("alice", study, "manager").get(page, headers=headers).text
    assert "work on this machine only" in shown
    assert (link in shown, advice in shown) == (False, True)


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example/"])
def test_saved_address_leads_to_no_other_site(sue, back):
    """Attack: a link to the page carries an address of its own."""
    given = {"address": ADDRESS, "next": back}
    answer = sue.post(reverse("server-address"), given)
    assert answer["Location"] == reverse("server-address")


def test_setting_decides_the_address(sue, settings):
    settings.BASE_URL = "https://lab.example"
    sue.post(reverse("server-address"), {"address": ADDRESS})
    assert not ServerAddress.objects.exists()
    assert "https://lab.example" in sue.get(reverse("server-address")).text
    assert server_address.server_address() == "https://lab.example"


def test_server_answers_at_the_entered_address(sue, settings):
    """A tunnel ends HTTPS and passes the name on; forms come from that origin."""
    settings.ALLOWED_HOSTS = list(LOCAL_HOSTS)
    host, elsewhere = {"host": "study.example.org"}, {"host": "evil.example"}
    assert Client().get("/login/", headers=host).status_code == 400
    server_address.save(ADDRESS)
    assert Client().get("/login/", headers=elsewhere).status_code == 400
    strict = Client(enforce_csrf_checks=True, headers=host)
    form = strict.get("/login/")
    assert form.status_code == 200
    given = {"csrfmiddlewaretoken": form.context["csrf_token"], "username": "sue"}
    for origin, status in ((ADDRESS, 200), ("https://evil.example", 403)):
        answer = strict.post("/login/", given, headers={"origin": origin})
        assert answer.status_code == status, origin


def test_steps_lead_a_new_manager_to_sent_links():
    User.objects.create(username="alice", is_staff=True)
    client = log_in("alice")
    assert client.get(reverse("study-list")).url == reverse("home")

    def now() -> str:
        return client.get("/").context["now"].address

    assert now() == reverse("upload-start")
    benchmark = make_benchmark()
    benchmark.members.create(user=User.objects.get(), role="owner")
    assert now() == reverse("setup-start")
    study = make_study(benchmark=benchmark)
    study.annotators.update(state=Annotator.State.PLANNED)
    log_in("alice", study, "manager")
    assert now() == reverse("annotator-list", args=[study.slug])
    study.annotators.update(state=Annotator.State.INVITED)
    assert client.get("/").url == reverse("study-list")
    assert client.get(reverse("study-list")).status_code == 200


def test_researcher_without_studies_sees_no_steps(client):
    page = log_in("rob").get("/", follow=True).text
    assert "A manager can add you" in page
