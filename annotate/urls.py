"""Pages for managers, and the annotator's pages under an invitation link."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path, re_path

from annotate.views import home, rate

account_urls = [
    path("", home.home, name="home"),
    path(
        "login/",
        LoginView.as_view(template_name="login.html", redirect_authenticated_user=True),
        name="login",
    ),
    path("logout/", LogoutView.as_view(), name="logout"),
]

# /studies/...: what managers and researchers see
study_urls: list = []

# /rate/<token>/...: what an annotator sees
rate_urls = [
    path("rate/<token>/", rate.entry, name="rate-entry"),
    path("rate/<token>/consent/", rate.consent, name="rate-consent"),
    path("rate/<token>/instructions/", rate.instructions, name="rate-instructions"),
    path("rate/<token>/pause/", rate.pause, name="rate-pause"),
    path("rate/<token>/done/", rate.done, name="rate-done"),
    path("rate/<token>/story/<code>/", rate.slot, name="rate-slot"),
    path("rate/<token>/story/<code>/answer/", rate.answer, name="rate-answer"),
    path("rate/<token>/story/<code>/submit/", rate.submit, name="rate-submit"),
    re_path(
        r"^rate/(?P<token>[\w-]+)/story/(?P<code>[\w-]+)/(?P<side>only|left|right)/"
        r"(?P<number>\d+)/(?P<rendition>display|thumb)/$",
        rate.picture,
        name="rate-picture",
    ),
    re_path(
        r"^rate/(?P<token>[\w-]+)/story/(?P<code>[\w-]+)/character/(?P<index>\d+)/"
        r"(?P<number>\d+)/(?P<rendition>display|thumb)/$",
        rate.character,
        name="rate-character",
    ),
]

urlpatterns = account_urls + study_urls + rate_urls
