"""Archive and deletion of a study."""

import pytest
from django.urls import reverse

from annotate.models import Annotator, Event, Rating, Slot, Study
from annotate.people import inviting
from annotate.reports import building, deleting
from annotate.studies import lifecycle
from annotate.tasks import delete_studies
from evalcore.models import BenchmarkMember, Frame
from tests.annotate.studies.test_extending import planned_study, work
from tests.people import alice, answer_everything, log_in, rob

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = planned_study(checks={"per_session": 1, "kinds": ["repeat"]})
    inviting.invite(study, count=2)
    work(study.annotators.first(), 2)
    answer_everything(study)
    return lifecycle.close(study)


@pytest.fixture
def owner(study):
    client = alice(study)
    user = study.members.get(role="manager").user
    BenchmarkMember.objects.update_or_create(
        benchmark=study.benchmark, user=user, defaults={"role": "owner"}
    )
    return client


def address(study, name):
    return reverse(name, args=[study.slug])


def test_archived_study_is_hidden_and_read_only_until_restored(study, owner):
    owner.post(address(study, "study-archive"))
    assert study.title not in owner.get(reverse("study-list")).content.decode()
    page = owner.get(reverse("study-list") + "?archived=1").content.decode()
    assert study.title in page
    for name, sent in (
        ("study-rename", {"title": "Other"}),
        ("study-deadline", {"deadline": "2999-01-01"}),
        ("report-create", {}),
    ):
        page = owner.post(address(study, name), sent, follow=True).content.decode()
        assert "it is read-only" in page
    with pytest.raises(lifecycle.LifecycleError, match="archived"):
        lifecycle.launch(study)
    assert owner.get(address(study, "study-ratings-csv")).status_code == 200
    owner.post(address(study, "study-archive"), {"do": "restore"})
    again = Study.objects.get()
    assert (again.archived_at, again.title) == (None, study.title)
    logged = study.events.order_by("pk").values_list("kind", flat=True)
    assert list(logged)[-2:] == [Event.Kind.STUDY_ARCHIVED, Event.Kind.STUDY_RESTORED]


def test_running_study_is_neither_archived_nor_deleted(study, owner):
    lifecycle.launch(study)
    page = owner.post(address(study, "study-archive"), follow=True).content.decode()
    assert "Close it first" in page
    answer = owner.post(address(study, "study-delete"), {"name": study.slug})
    assert (answer.status_code, Study.objects.count()) == (422, 1)
    assert Study.objects.get().archived_at is None


@pytest.mark.postgresql
def test_deletion_takes_everything_of_the_study_alone(
    study, owner, caplog, django_capture_on_commit_callbacks
):
    other = planned_study_beside(study)
    report = study.reports.create(view=study.analysis_views.first(), state="done")
    building.folder(report).mkdir(parents=True)
    pictures = Frame.objects.count()
    assert (
        owner.post(address(study, "study-delete"), {"name": "sma"}).status_code == 422
    )
    assert Study.objects.filter(slug="small").get().deletion_asked_at is None
    with django_capture_on_commit_callbacks(execute=True):
        owner.post(address(study, "study-delete"), {"name": "small"})
    assert list(Study.objects.all()) == [other]
    assert not Slot.objects.exclude(study=other).exists()
    assert not Rating.objects.exclude(slot__study=other).exists()
    assert not Annotator.objects.exclude(study=other).exists()
    assert not building.folder(report).exists()
    assert Frame.objects.count() == pictures
    assert "study small: deleted with" in caplog.text
    assert "asked for by alice" in caplog.text


def planned_study_beside(study):
    """Plan and answer another study of the same benchmark."""
    from annotate.studies.planning import plan_study
    from tests.annotate.studies.test_extending import definition

    other = plan_study(
        definition(), benchmark=study.benchmark, slug="other", annotators=2
    )
    answer_everything(other)
    return other


def test_only_an_owner_deletes(study):
    sent = {"name": study.slug}
    assert rob(study).post(address(study, "study-delete"), sent).status_code == 403
    manager = log_in("carol", study, "manager")
    assert manager.post(address(study, "study-delete"), sent).status_code == 403
    page = manager.get(address(study, "study-settings")).content.decode()
    assert address(study, "study-delete") not in page
    assert log_in("eve").get(address(study, "study-delete")).status_code == 404
    assert Study.objects.count() == 1


@pytest.mark.postgresql
@pytest.mark.slow
def test_large_study_is_deleted_by_a_worker_which_goes_on_after_a_failure(
    study, owner, monkeypatch
):
    monkeypatch.setattr(deleting, "SLOTS_AT_ONCE", 1)
    monkeypatch.setattr("annotate.pages.manage.repair.delete_studies.delay", list)
    owner.post(address(study, "study-delete"), {"name": "small"})
    assert (
        "being deleted"
        in owner.get(reverse("study-list") + "?archived=1").content.decode()
    )
    owner.post(address(study, "study-archive"), {"do": "restore"})
    assert Study.objects.get().archived_at is not None
    slots = Slot.objects.count()

    def fail(*_given, **_named):
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr(Study, "delete", fail)
        with pytest.raises(RuntimeError):
            delete_studies()
    assert (Slot.objects.count(), deleting.waiting()) == (slots, [study.pk])
    delete_studies()
    assert not Study.objects.exists()


def test_list_without_studies_leads_to_the_pages(client):
    log_in("sue")
    page = log_in("sue").get(reverse("study-list")).content.decode()
    assert "manage.py" not in page
