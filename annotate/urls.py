"""Pages for managers, and the annotator's pages under an invitation link."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from annotate.views import home

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
rate_urls: list = []

urlpatterns = account_urls + study_urls + rate_urls
