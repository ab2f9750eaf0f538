"""WSGI entry point for gunicorn."""

import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")
application = get_wsgi_application()

# All pages are imported before the web server's processes part: they share the memory,
# and the first to ask waits no longer than others.
import_module(settings.ROOT_URLCONF)
