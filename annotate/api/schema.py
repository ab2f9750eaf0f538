"""The contract as a file, and as a page to read."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from annotate.api.base import ApiView
from annotate.api.contract import contract_file
from annotate.api.problems import TITLES
from annotate.api.reading import operations


class Schema(ApiView):
    authentication_classes = ()
    permission_classes = ()

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """Return the contract as OpenAPI in YAML."""
        return HttpResponse(contract_file(), content_type="application/yaml")


@require_safe
def documentation(request: HttpRequest) -> HttpResponse:
    """Show every operation of the API."""
    context = {"groups": operations(), "problems": TITLES}
    return render(request, "api_docs.html", context)
