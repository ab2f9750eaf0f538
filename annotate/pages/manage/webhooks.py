"""Pages of a study's webhooks and their deliveries."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from annotate.models import Delivery, Study, Webhook
from annotate.pages.scores import STOP_POLLING
from annotate.pages.study_views import (
    UserRequest,
    render_page,
    study_button,
    study_page,
)
from annotate.tasks import ring, wake_webhooks
from annotate.webhooks import delivering, managing

PER_PAGE = 50

webhook_button = study_button("webhook-list", of="webhooks")


@never_cache
@study_page("GET", "HEAD", "POST", role="manager")
def webhook_list(request: UserRequest, study: Study) -> HttpResponse:
    """List the webhooks, and add one, whose secret is shown once."""
    if request.method != "POST":
        return _page(request, study)
    given = request.POST.get("address", "").strip(), request.POST.getlist("event")
    try:
        added = managing.add(study, *given, by=request.user)
    except managing.WebhookError as error:
        context = {"error": str(error), "address": given[0], "chosen": given[1]}
        return _page(request, study, 422, **context)
    return _page(request, study, added=added)


def _page(
    request: UserRequest, study: Study, status: int = 200, **context: object
) -> HttpResponse:
    context.setdefault("chosen", Webhook.Event.values)
    return render_page(
        request,
        study,
        "manage/webhooks.html",
        status,
        webhooks=study.webhooks.all(),
        events=Webhook.Event.choices,
        **context,
    )


@study_page(role="manager", of="webhooks")
def webhook_detail(
    request: UserRequest, study: Study, webhook: Webhook
) -> HttpResponse:
    """List the deliveries of a webhook; htmx polls while one is due."""
    page = Paginator(webhook.deliveries.all(), PER_PAGE).get_page(
        request.GET.get("page")
    )
    at_work = webhook.is_active and delivering.due().filter(webhook=webhook).exists()
    context: dict[str, Any] = {"webhook": webhook, "page": page, "at_work": at_work}
    if not request.htmx:
        return render_page(request, study, "manage/webhook.html", **context)
    status = 200 if at_work else STOP_POLLING
    return render(
        request, "manage/_deliveries.html", {"study": study, **context}, status=status
    )


@study_page("POST", role="manager", of="webhooks")
def webhook_test(request: UserRequest, study: Study, webhook: Webhook) -> HttpResponse:
    """Queue a message to try a webhook out."""
    managing.test(webhook)
    return _to_deliveries(study, webhook)


@study_page("POST", role="manager", of="webhooks")
def webhook_resume(
    request: UserRequest, study: Study, webhook: Webhook
) -> HttpResponse:
    """Switch a webhook on again."""
    managing.resume(webhook, by=request.user)
    return _to_deliveries(study, webhook)


@study_page("POST", role="manager", of="webhooks")
def webhook_send_again(
    request: UserRequest, study: Study, webhook: Webhook, delivery_pk: int
) -> HttpResponse:
    """Queue a message again."""
    row = get_object_or_404(webhook.deliveries, pk=delivery_pk)
    delivering.send_again(Delivery.objects.filter(pk=row.pk))
    return _to_deliveries(study, webhook)


def _to_deliveries(study: Study, webhook: Webhook) -> HttpResponse:
    """Wake a worker and show the deliveries."""
    ring(wake_webhooks)
    return redirect("webhook-detail", study.slug, webhook.pk)


@webhook_button
def webhook_delete(request: UserRequest, study: Study, webhook: Webhook) -> str:
    """Delete a webhook."""
    managing.delete(webhook, by=request.user)
    return _("The webhook %(address)s was deleted.") % {"address": webhook.address}
