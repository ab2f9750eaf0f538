"""All settings, read from the environment; a bad value stops the start.

`docs/reference/settings.md` lists every variable.
"""

import os
import platform
from datetime import timedelta
from pathlib import Path

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _
from platformdirs import user_data_path

from evalcore.serving import environment

BASE_DIR = Path(__file__).resolve().parent.parent

PRODUCTION = environment.flag("PRODUCTION")
DEMO = environment.flag("DEMO")
if DEMO and PRODUCTION:
    raise ImproperlyConfigured(
        "DEMO=1 and PRODUCTION=1 are both set, but the demo's passwords are public. "
        "Set only one of them."
    )
DEBUG = False
PORT = environment.port("PORT")
BIND = environment.read("BIND", "127.0.0.1")
BASE_URL = environment.base_url()
WEB_WORKERS = environment.count("WEB_WORKERS", environment.processors(), most=64)
TRUSTED_PROXIES = environment.count("TRUSTED_PROXIES", 0, least=0, most=9)
RETENTION_DAYS = environment.count("RETENTION_DAYS", 0, least=0, most=36_500)
# A clone has its data beside the source; an installed program may not write there.
_is_clone = (BASE_DIR / "manage.py").is_file()
_data = BASE_DIR / "var" if _is_clone else user_data_path("plumbline", appauthor=False)
DATA_DIR = environment.own_folder("DATA_DIR", _data / "demo" if DEMO else _data)
STATIC_ROOT = DATA_DIR / "static"
DOCUMENTATION_ROOT = BASE_DIR / "docs" / "_build" / "html"
environment.make_folder("DATA_DIR", STATIC_ROOT)
SECRET_KEY = environment.secret_key(
    production=PRODUCTION, key_file=DATA_DIR / "secret_key"
)
ALLOWED_HOSTS = environment.allowed_hosts(production=PRODUCTION, base=BASE_URL)
CSRF_TRUSTED_ORIGINS = [BASE_URL] if BASE_URL else []

# The address of an object store, if MEDIA_ROOT names one, and the folder for copies.
MEDIA_STORE, MEDIA_ROOT = environment.media(DATA_DIR)
MEDIA_CACHE_MB = environment.count("MEDIA_CACHE_MB", 10_000, most=100_000_000)
MEDIA_MAX_MEGAPIXELS = environment.count("MEDIA_MAX_MEGAPIXELS", 40, most=1000)
MEDIA_ACCEL = environment.location("MEDIA_ACCEL")
REPORTS_ROOT = environment.own_folder("REPORTS_ROOT", DATA_DIR / "reports")
UPLOAD_MAX_MB = environment.count("UPLOAD_MAX_MB", 4000, most=1_000_000)
UPLOAD_MAX_FILES = environment.count("UPLOAD_MAX_FILES", 50_000, most=1_000_000)
UPLOAD_FOLDER = environment.existing_folder("UPLOAD_FOLDER")
UPLOAD_ADDRESSES = environment.addresses("UPLOAD_ADDRESSES")
FEATURES_ROOT = DATA_DIR / "features"
CHECKED_METRICS = DATA_DIR / "checked-metrics.json"
WEBHOOK_ALLOW = environment.networks("WEBHOOK_ALLOW")
EVALCORE_WEIGHTS_DIR = environment.existing_folder("EVALCORE_WEIGHTS_DIR")

LOG_FORMAT = environment.one_of("LOG_FORMAT", "line", "json")
LOG_REQUESTS = environment.flag("LOG_REQUESTS")
METRICS_TOKEN = environment.token("METRICS_TOKEN")
METRICS = environment.flag("METRICS") or bool(METRICS_TOKEN)
if METRICS:
    # Where the web server's processes count; `prometheus_client` looks for the variable
    # when it is imported. A folder a machine: process ids distinguish files.
    METRICS_ROOT = DATA_DIR / "request-counts" / platform.node()
    environment.make_folder("DATA_DIR", METRICS_ROOT)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(METRICS_ROOT)

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "django_htmx",
    "csp",
    "axes",
    "evalcore.apps.EvalcoreConfig",
    "annotate.apps.AnnotateConfig",
    "fixtures",
]

MIDDLEWARE = [
    "evalcore.serving.health.health_middleware",
    "evalcore.serving.request_log.request_middleware",
    "evalcore.serving.health.only_this_machine",
    "annotate.access.server_address.accept_own_address",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "annotate.middleware.forbid_storing",
    "annotate.api.problems.problem_middleware",
    "annotate.middleware.ReportStore",
    "annotate.middleware.refuse_large",
    "annotate.middleware.refuse_nul",
    "csp.middleware.CSPMiddleware",
    "annotate.middleware.open_frames",  # outside of the CSRF and frame middleware
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]
if METRICS:  # after probes, which nobody needs to count
    MIDDLEWARE.insert(1, "annotate.health.prometheus.count_middleware")
    MIDDLEWARE.insert(0, "annotate.health.prometheus.scrape_middleware")

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates", *BASE_DIR.glob("annotate/kinds/*/templates")],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "evalcore.serving.workers.context",
            ],
        },
    }
]

ROOT_URLCONF = "evalcore.urls"
WSGI_APPLICATION = "evalcore.wsgi.application"
DATABASES = {"default": environment.database(DATA_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "annotate.User"
OIDC_ISSUER = environment.issuer("OIDC_ISSUER")
OIDC_CLIENT_ID = environment.read("OIDC_CLIENT_ID")
OIDC_CLIENT_SECRET = environment.read("OIDC_CLIENT_SECRET")
OIDC_NAME = environment.read("OIDC_NAME", "your institution")
OIDC_SCOPES = environment.read("OIDC_SCOPES", "openid profile")
OIDC_GROUPS_CLAIM = environment.read("OIDC_GROUPS_CLAIM", "groups")
OIDC_ADMIN_GROUP = environment.read("OIDC_ADMIN_GROUP")
OIDC_STAFF_GROUP = environment.read("OIDC_STAFF_GROUP")
PASSWORD_LOGIN = environment.flag("PASSWORD_LOGIN", "1")
if not (OIDC_ISSUER or PASSWORD_LOGIN):
    raise ImproperlyConfigured(
        "PASSWORD_LOGIN=0 leaves no way to log in. Set OIDC_ISSUER as well."
    )
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "annotate.access.permissions.RefusePublicPassword",
]
if PASSWORD_LOGIN:
    AUTHENTICATION_BACKENDS.append("django.contrib.auth.backends.ModelBackend")
if OIDC_ISSUER:  # first: wrong passwords from an address do not stop these logins
    AUTHENTICATION_BACKENDS.insert(0, "annotate.sign_on.provider.Backend")
# What is counted, and when a login is refused, stands in `annotate.access.rate_limits`.
AXES_HANDLER = "annotate.access.rate_limits.Guard"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_CLIENT_IP_CALLABLE = "annotate.access.rate_limits.client_address"
AXES_USERNAME_CALLABLE = "annotate.access.rate_limits.username"
AXES_LOCKOUT_CALLABLE = "annotate.access.rate_limits.login_refused"
# Not kept with a wrong password: somebody may have written another one as the name, and
# the next address may contain a link's secret.
AXES_SENSITIVE_PARAMETERS = ["username", "next", "csrfmiddlewaretoken", "code", "state"]
AXES_VERBOSE = False
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
STATICFILES_DIRS = list(BASE_DIR.glob("annotate/kinds/*/static"))
STORAGES = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": MEDIA_ROOT},
    },
    "staticfiles": {
        "BACKEND": (
            "evalcore.serving.web_server.HashedStaticFiles"
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
        "frame-ancestors": [NONE],
    }
}
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION or BASE_URL.startswith("https:")
if PRODUCTION:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 30 * 24 * 3600
# What `check --deploy` would rather have otherwise.
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS for subdomains: others may serve those
    "security.W021",  # HSTS preloaded by browsers: follows from the former
]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "annotate.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PARSER_CLASSES": ["annotate.api.authentication.ShallowJSONParser"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_SCHEMA_CLASS": "annotate.api.contract.Operation",
    "DEFAULT_PAGINATION_CLASS": "annotate.api.pagination.Pages",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "EXCEPTION_HANDLER": "annotate.api.problems.handle",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Plumbline",
    "DESCRIPTION": "Human ratings of generated stories and metric alignment.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": ["annotate.api.contract.complete"],
}

# The broker is only a doorbell: work to do stands in the database, and the
# worker looks there at start and every minute.
CELERY_BROKER_URL = environment.broker()
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# Pages ring as well: they do not wait for a broker that is away, and a silent one is
# given up soon.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_CONNECTION_TIMEOUT = 1.0
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_DEFAULT_QUEUE = "cpu"
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BEAT_SCHEDULE = {
    "scores": {"task": "evalcore.scoring.tasks.sweep", "schedule": 60},
    "reports": {"task": "annotate.tasks.sweep_reports", "schedule": 60},
    "exports": {"task": "annotate.tasks.sweep_exports", "schedule": 60},
    "public data": {"task": "annotate.tasks.write_public_data", "schedule": 60},
    "plans": {"task": "annotate.tasks.plan_studies", "schedule": 60},
    "uploads": {"task": "annotate.tasks.sweep_uploads", "schedule": 60},
    "rehearsals": {"task": "annotate.tasks.sweep_rehearsals", "schedule": 60},
    "deletions": {"task": "annotate.tasks.delete_studies", "schedule": 60},
    # Beside other work that waits, and not piled up behind work that does not.
    "webhooks": {
        "task": "annotate.tasks.work_on_webhooks",
        "schedule": 15,
        "options": {"queue": "judge", "expires": 15},
    },
    "leases": {"task": "annotate.tasks.release_expired", "schedule": 60},
    "pictures": {"task": "annotate.tasks.draw_pictures", "schedule": 60},
    "snapshots": {"task": "annotate.tasks.refresh_snapshots", "schedule": 60},
    "unused pictures": {
        "task": "annotate.tasks.remove_unused_pictures",
        "schedule": 3600,
    },
    "personal data": {"task": "annotate.tasks.erase_due", "schedule": 3600},
}
# No state on disk: a sweep too many is harmless.
CELERY_BEAT_SCHEDULER = "celery.beat:Scheduler"
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {"max_retries": 0}  # of pages
if CELERY_BROKER_URL.startswith("filesystem"):
    _queue = DATA_DIR / "queue"
    CELERY_BROKER_TRANSPORT_OPTIONS |= {
        "data_folder_in": str(_queue / "messages"),
        "data_folder_out": str(_queue / "messages"),
        "control_folder": str(_queue / "control"),
    }
elif CELERY_BROKER_URL.startswith("redis"):
    CELERY_BROKER_TRANSPORT_OPTIONS |= {
        "socket_connect_timeout": 1.0,
        "socket_timeout": 2.0,
    }

LOGGING_CONFIG = "evalcore.serving.log.configure"
DEFAULT_EXCEPTION_REPORTER = "evalcore.serving.log.ErrorReport"
DEFAULT_EXCEPTION_REPORTER_FILTER = "evalcore.serving.log.ReportFilter"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s%(context)s"
        },
        "json": {"()": "evalcore.serving.log.JsonLine"},
    },
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}
    },
    "root": {"handlers": ["console"], "level": "INFO"},
    # A line for each question to a judge says nothing that the run does not.
    "loggers": {
        "httpx2": {"level": "WARNING"},
        "axes": {"level": "WARNING"},
        "evalcore.serving.request_log": {
            "level": "INFO" if LOG_REQUESTS else "WARNING"
        },
    },
}
