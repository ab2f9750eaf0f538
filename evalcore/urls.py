"""The table of contents of the site; each app lists its own pages."""

from django.conf import settings
from django.urls import include, path

urlpatterns = [
    path("", include("annotate.urls")),
    path("i18n/", include("django.conf.urls.i18n")),
]

handler500 = "evalcore.serving.request_log.server_error"

if settings.DEMO:
    urlpatterns.insert(0, path("", include("fixtures.views")))
