"""Exports of a study: its tables in other formats and layouts, and bundles."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from annotate.bundles import exports
from annotate.models import Export, Study, User
from annotate.pages.scores import STOP_POLLING
from annotate.pages.study_views import UserRequest, render_page, study_page
from annotate.reports import building
from annotate.reports.forms import ExportForm
from annotate.reports.layouts import ExportError
from annotate.tasks import ring, wake_exports


@study_page()
def export_list(request: UserRequest, study: Study) -> HttpResponse:
    """List the study's exports; htmx polls while one is being written."""
    if not request.htmx:
        return _list_page(request, study, ExportForm(study=study))
    context = {"study": study, **_list(request.user, study)}
    status = 200 if context["at_work"] else STOP_POLLING
    return render(request, "reports/_exports.html", context, status=status)


def _list(user: User, study: Study) -> dict[str, object]:
    rows = list(exports.visible_exports(study, user))
    return {
        "exports": rows,
        "deletable": {row.pk for row in rows if building.may_remove(row, user)},
        "at_work": any(row.state in Export.UNFINISHED for row in rows),
        "days": exports.RETENTION.days,
    }


def _list_page(
    request: UserRequest, study: Study, form: ExportForm, status: int = 200
) -> HttpResponse:
    context = _list(request.user, study)
    return render_page(
        request, study, "reports/exports.html", status, form=form, **context
    )


@study_page("POST")
def export_create(request: UserRequest, study: Study) -> HttpResponse:
    """Queue an export and wake a worker."""
    form = ExportForm(request.POST, study=study)
    if not form.is_valid():
        return _list_page(request, study, form, status=422)
    try:
        exports.ask(study, request.user, **form.cleaned_data)
    except ExportError as error:
        form.add_error(None, str(error))
        is_busy = isinstance(error, exports.TooManyExportsError)
        return _list_page(request, study, form, status=429 if is_busy else 422)
    ring(wake_exports)
    return redirect("export-list", study.slug)


@study_page("POST", role="manager")
def bundle_create(request: UserRequest, study: Study) -> HttpResponse:
    """Queue a bundle and wake a worker."""
    pictures = "pictures" in request.POST
    try:
        exports.ask_bundle(study, request.user, pictures=pictures)
    except exports.TooManyExportsError as error:
        messages.error(request, str(error))
    else:
        ring(wake_exports)
    return redirect("export-list", study.slug)


@study_page()
def export_file(request: UserRequest, study: Study, pk: int) -> FileResponse:
    """Send the file of a finished export."""
    rows = exports.visible_exports(study, request.user)
    export = get_object_or_404(rows, pk=pk, state=Export.State.DONE)
    path = exports.path_of(export)
    if not path.is_file():
        raise Http404
    return FileResponse(path.open("rb"), as_attachment=True, filename=path.name)


@study_page("POST", in_archive=True)
def export_delete(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    """Delete an export and its file; managers may delete those of others."""
    export = get_object_or_404(exports.visible_exports(study, request.user), pk=pk)
    if not building.may_remove(export, request.user):
        raise PermissionDenied(_("Only managers can delete other people's exports."))
    exports.delete(export)
    messages.success(request, _("The export was deleted."))
    return redirect("export-list", study.slug)
