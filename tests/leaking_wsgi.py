"""The site as gunicorn serves it, but a query makes it fail; reports are printed.

`?fail=django` fails below Django, `?fail=gunicorn` below gunicorn.
"""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")

from django.conf import settings
from django.core.wsgi import get_wsgi_application

settings.ADMINS = [("Alice", "alice@example.org")]
settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
settings.MIDDLEWARE.append("tests.leaking_wsgi.fail")


def fail(get_response):
    def middleware(request):
        if request.GET.get("fail") == "django":
            token = request.path.split("/")[2]
            raise ValueError(f"for {token} at {request.get_full_path()}")
        return get_response(request)

    return middleware


def application(environ, start_response):
    if "fail=gunicorn" in environ["QUERY_STRING"]:
        raise ValueError(environ["RAW_URI"])
    return django(environ, start_response)


django = get_wsgi_application()
