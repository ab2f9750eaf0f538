"""All settings, read from the environment; a bad value stops the start.

`ENVIRONMENT` below lists every variable that Plumbline reads.
"""

import os
from pathlib import Path

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

BASE_DIR = Path(__file__).resolve().parent.parent

ENVIRONMENT = {
    "PRODUCTION": "1 on a public server: demands SECRET_KEY, ALLOWED_HOSTS and HTTPS",
    "SECRET_KEY": "signs sessions; required with PRODUCTION=1",
    "DATABASE_URL": "sqlite:///path or postgres://user:password@host/name",
    "BROKER_URL": "filesystem:// (the default, no server), redis:// or amqp://",
    "DATA_DIR": "where the SQLite file, media, queue and reports live (default var/)",
    "MEDIA_ROOT": "folder of the pictures (default DATA_DIR/media)",
    "ALLOWED_HOSTS": "comma-separated host names that this server answers to",
    "DEMO": "1 shows the demo's front page with its open doors (never in production)",
    "PORT": "port of `make demo` and `make run` (default 8000)",
    "EVALCORE_WEIGHTS_DIR": "folder with weights of learned metrics",
}


def _flag(name: str) -> bool:
    value = os.environ.get(name, "0")
    if value not in ("0", "1"):
        raise ImproperlyConfigured(f"{name}={value!r}: write 1 (yes) or 0 (no).")
    return value == "1"


def _port() -> int:
    value = os.environ.get("PORT", "8000")
    if not (value.isdigit() and 1 <= int(value) <= 65535):
        raise ImproperlyConfigured(f"PORT={value!r}: write a number from 1 to 65535.")
    return int(value)


def _database() -> dict:
    url = os.environ.get("DATABASE_URL", "")
    if not url:
        return _sqlite(DATA_DIR / "plumbline.sqlite3")
    try:
        database = dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True)
    except (ValueError, dj_database_url.ParseError) as error:
        raise ImproperlyConfigured(
            "DATABASE_URL is not a database address "
            "(sqlite:///path or postgres://user:password@host/name)."
        ) from error
    engine = database["ENGINE"].rsplit(".", 1)[-1]
    if engine == "sqlite3":
        return _sqlite(database["NAME"])
    if engine != "postgresql":
        raise ImproperlyConfigured(
            f"DATABASE_URL names {engine}: Plumbline runs on sqlite or postgres."
        )
    return database


def _sqlite(path: str | Path) -> dict:
    # WAL lets annotators read while one writes; IMMEDIATE takes the write lock up
    # front, so that a transaction waits instead of failing half-way.
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
        # Tests use a file too: an in-memory database has no WAL and other locks.
        "TEST": {"NAME": str(DATA_DIR / "test.sqlite3")},
    }


def _broker() -> str:
    url = os.environ.get("BROKER_URL") or "filesystem://localhost/"
    if url.split("://")[0] not in ("filesystem", "redis", "rediss", "amqp", "amqps"):
        raise ImproperlyConfigured(
            f"BROKER_URL={url!r}: write filesystem://, redis://... or amqp://..."
        )
    return url


PRODUCTION = _flag("PRODUCTION")
DEMO = _flag("DEMO")
if DEMO and PRODUCTION:
    raise ImproperlyConfigured(
        "DEMO=1 and PRODUCTION=1: the demo's passwords are public; set only one."
    )
DEBUG = False
PORT = _port()
DATA_DIR = Path(os.environ.get("DATA_DIR") or BASE_DIR / "var").resolve()
MEDIA_ROOT = Path(os.environ.get("MEDIA_ROOT") or DATA_DIR / "media").resolve()
REPORTS_ROOT = DATA_DIR / "reports"
try:
    DATA_DIR.mkdir(parents=True, exist_ok=True)
except OSError as error:
    raise ImproperlyConfigured(
        f"DATA_DIR={DATA_DIR}: cannot be created ({error.strerror}); "
        "name a folder that this user may write."
    ) from error
EVALCORE_WEIGHTS_DIR = os.environ.get("EVALCORE_WEIGHTS_DIR")

SECRET_KEY = os.environ.get("SECRET_KEY", "")
if not SECRET_KEY:
    if PRODUCTION:
        raise ImproperlyConfigured(
            "SECRET_KEY is missing: with PRODUCTION=1 set it to a long random text."
        )
    SECRET_KEY = "development-key-of-plumbline-not-for-public-servers"

ALLOWED_HOSTS = [
    host.strip()
    for host in os.environ.get("ALLOWED_HOSTS", "").split(",")
    if host.strip()
]
if not ALLOWED_HOSTS:
    if PRODUCTION:
        raise ImproperlyConfigured(
            "ALLOWED_HOSTS is missing: with PRODUCTION=1 name the server's host."
        )
    ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "rest_framework.authtoken",
    "drf_spectacular",
    "django_htmx",
    "csp",
    "evalcore.apps.EvalcoreConfig",
    "annotate.apps.AnnotateConfig",
    "analysis.web.apps.AnalysisWebConfig",
    "fixtures",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

ROOT_URLCONF = "evalcore.urls"
WSGI_APPLICATION = "evalcore.wsgi.application"
DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "annotate.User"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "study-list"
LOGOUT_REDIRECT_URL = "home"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator")
]

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Chinese"))]
LOCALE_PATHS = [BASE_DIR / "annotate" / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATIC_ROOT.mkdir(exist_ok=True)
STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": MEDIA_ROOT},
    },
    "staticfiles": {
        "BACKEND": (
            "whitenoise.storage.CompressedManifestStaticFilesStorage"
            if PRODUCTION
            else "django.contrib.staticfiles.storage.StaticFilesStorage"
        ),
    },
}
WHITENOISE_USE_FINDERS = not PRODUCTION

# Pages load nothing from elsewhere and run no inline script or style.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [SELF],
    }
}
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "SAMEORIGIN"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
if PRODUCTION:
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
    SECURE_HSTS_SECONDS = 30 * 24 * 3600

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
    "PAGE_SIZE": 100,
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Plumbline",
    "DESCRIPTION": "Human ratings of generated stories and metric alignment.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
}

# The broker is only a doorbell: work to do stands in the database, and the
# worker looks there at start and every minute.
CELERY_BROKER_URL = _broker()
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_DEFAULT_QUEUE = "cpu"
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BEAT_SCHEDULE = {
    "scores": {"task": "evalcore.tasks.sweep", "schedule": 60},
    "reports": {"task": "analysis.web.tasks.sweep_reports", "schedule": 60},
    "leases": {"task": "annotate.tasks.release_expired", "schedule": 60},
}
# No state on disk: a sweep too many is harmless.
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"
if CELERY_BROKER_URL.startswith("filesystem"):
    _queue = DATA_DIR / "queue"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(_queue / "messages"),
        "data_folder_out": str(_queue / "messages"),
        "control_folder": str(_queue / "control"),
    }

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "INFO"},
}
