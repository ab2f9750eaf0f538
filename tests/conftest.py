"""Fixtures that all tests share."""

import fcntl
import gc
import itertools
import os
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import TransactionTestCase
from django.utils import translation
from hypothesis import settings as hypothesis_settings
from playwright.sync_api import expect, sync_playwright
from whitenoise.middleware import WhiteNoiseMiddleware

from tests import chromium_build, migrated
from tests.object_stores import bucket, moto_server, shelf  # noqa: F401
from tests.page_errors import PageErrors

# Playwright runs an event loop in the tests' own thread, and Django would refuse
# to touch the database there.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

# Test processes already use every core, and what tests compute is small: more threads
# would only wait for one another.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# A busy machine may take long.
expect.set_options(timeout=30_000)

# No deadline: a busy machine is slow. The same examples in every run, so that a failure
# repeats; `--hypothesis-profile=explore` looks for new ones.
hypothesis_settings.register_profile("explore", deadline=None)
hypothesis_settings.register_profile("thorough", deadline=None, derandomize=True)
hypothesis_settings.register_profile(
    "repeatable", hypothesis_settings.get_profile("thorough"), max_examples=10
)
hypothesis_settings.load_profile("repeatable")

# A hash that is slow to guess only slows tests down.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# The innermost middleware: the outer ones see the final length of a page.
settings.MIDDLEWARE = [*settings.MIDDLEWARE, "tests.one_line.middleware"]

# Every test client creates its own middleware, which would list all static files again.
static_files: dict = {}
list_static_files = WhiteNoiseMiddleware.add_files_from_finders


def add_static_files(middleware):
    if not static_files:
        list_static_files(middleware)
        static_files.update(middleware.files)
    middleware.files.update(static_files)


WhiteNoiseMiddleware.add_files_from_finders = add_static_files

# What migrations put into the database; nothing else does.
MIGRATED = {"auth_permission", "django_content_type", "django_migrations"}


def empty_tables(_test):
    """Empty all tables but `MIGRATED`: Django would write theirs again.

    Most are empty, and PostgreSQL takes as long to truncate those.
    """
    tables = connection.introspection.django_table_names(
        only_existing=True, include_views=False
    )
    quote = connection.ops.quote_name
    filled = " UNION ALL ".join(
        f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {quote(table)})"
        for table in sorted(set(tables) - MIGRATED)
    )
    # References are checked at the end of the transaction.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(filled)
        for [table] in cursor.fetchall():
            cursor.execute(f"DELETE FROM {quote(table)}")


TransactionTestCase._fixture_teardown = empty_tables

SHARED = Path(__file__).resolve().parents[2] / "shared"

# Seconds that each test took, stored in pytest's cache between runs.
seconds: dict[str, float] = {}
SECONDS = "plumbline/seconds"
# The estimate for a test that never ran.
USUAL_SECONDS = 0.4

# Fixtures that use the database.
DATABASE = {"db", "transactional_db", "live_server"}


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Collect no doctests below tests, where there are none."""
    found = yield
    return [one for one in found if type(one) is pytest.Module]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Return the number of cores, and one more for tests that wait for browsers."""
    waits = config.option.markexpr.startswith("browser")
    return (os.cpu_count() or 1) + waits


def pytest_addoption(parser):
    parser.addoption(
        "--most-seconds",
        type=float,
        default=float("inf"),
        help="leave out the slowest tests of the last run until the rest takes less",
    )


def cache_of(config) -> pytest.Cache | None:
    """Return pytest's cache; None with `-p no:cacheprovider`."""
    return getattr(config, "cache", None)


def pytest_runtest_logreport(report):
    seconds[report.nodeid] = seconds.get(report.nodeid, 0) + report.duration


def pytest_sessionfinish(session):
    """Store how long each test took; the controller gets its workers' reports, too."""
    cache = cache_of(session.config)
    if cache is not None and not hasattr(session.config, "workerinput"):
        cache.set(SECONDS, cache.get(SECONDS, {}) | seconds)


def too_slow(config, items) -> set:
    """Return the slowest tests; the others together keep to `--most-seconds`."""
    cache, left = cache_of(config), config.getoption("--most-seconds")
    known = {} if cache is None else cache.get(SECONDS, {})
    took = {item: known.get(item.nodeid, USUAL_SECONDS) for item in items}
    quickest = sorted(items, key=took.__getitem__)
    spent = itertools.accumulate(map(took.__getitem__, quickest))
    return {item for item, needed in zip(quickest, spent, strict=True) if needed > left}


def is_sqlite() -> bool:
    return connection.vendor == "sqlite"


def pytest_collection_modifyitems(config, items):
    """Run again on PostgreSQL only what touches the database; browsers come last.

    The browser's driver runs an event loop in the tests' thread to the end, and tests
    that start another loop would be refused. The demo takes longest and comes first:
    no process waits for it alone in the end.
    """
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
    items.sort(key=lambda item: item.path.parent.name != "fixtures")
    if slow := too_slow(config, items):
        config.hook.pytest_deselected(items=list(slow))
        items[:] = [item for item in items if item not in slow]
    if is_sqlite():
        return
    touching, others = [], []
    for item in items:
        asked = DATABASE.intersection(getattr(item, "fixturenames", ()))
        is_possible = not item.get_closest_marker("sqlite")
        touches = is_possible and (asked or item.get_closest_marker("django_db"))
        (touching if touches else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = touching


def pytest_collection_finish():
    """Collect garbage less often, and never among tests and modules, which stay."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout; absent on some machines."""
    if not SHARED.is_dir():
        pytest.skip("needs the reference data in ../shared")
    return SHARED


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings, tmp_path_factory):
    """Give each worker its own SQLite file, also when two runs are in progress."""
    if is_sqlite():
        database = tmp_path_factory.getbasetemp() / "test.sqlite3"
        connection.settings_dict["TEST"]["NAME"] = str(database)


@pytest.fixture(scope="session")
def migrated_copy(request, django_db_modify_db_settings) -> migrated.Copy | None:
    """A copy of the database right after its migrations."""
    cache = cache_of(request.config)
    if cache is None:
        return None
    folder = cache.mkdir("migrated")
    return migrated.File(folder) if is_sqlite() else migrated.Template(folder)


@pytest.fixture(scope="session")
def migrating(migrated_copy):
    """A lock: one process migrates, and the others wait for its database."""
    if migrated_copy is None:
        yield None
        return
    with migrated_copy.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


@pytest.fixture(scope="session")
def is_migrated(migrated_copy, migrating) -> bool:
    return migrated_copy is not None and migrated_copy.exists()


@pytest.fixture(scope="session")
def django_db_keepdb(migrated_copy, is_migrated) -> bool:
    """Begin with a copy of the migrated database, where there is one."""
    if is_migrated:
        migrated_copy.use(connection)
    return is_migrated and is_sqlite()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, is_migrated, migrated_copy, migrating):
    """Store a newly migrated database before any test uses it."""
    if migrated_copy is not None:
        if not is_migrated:
            migrated_copy.store(connection)
        fcntl.flock(migrating, fcntl.LOCK_UN)


@pytest.fixture(autouse=True)
def empty_caches():
    """Clear what is cached of the database, which is emptied after each test."""
    from annotate.models import studies  # once Django is set up

    yield
    studies._kept_questions.cache_clear()


@pytest.fixture(autouse=True)
def default_language():
    """Return to English after a test that requested a page in another language."""
    yield
    translation.deactivate()


@pytest.fixture(scope="session")
def data_folders(tmp_path_factory):
    """New folders, one after another; `tmp_path` would list all earlier ones first."""
    root = tmp_path_factory.mktemp("data")
    return (root / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_data_folders(settings, data_folders):
    """Store pictures and reports of a test away from the real data."""
    folder = next(data_folders)
    folder.mkdir()
    settings.DATA_DIR = folder
    settings.MEDIA_ROOT = folder / "media"
    settings.REPORTS_ROOT = folder / "reports"
    settings.FEATURES_ROOT = folder / "features"


@pytest.fixture(scope="session")
def page_errors() -> PageErrors:
    """Errors of pages in the current test."""
    return PageErrors()


@pytest.fixture(autouse=True)
def no_page_errors(page_errors, request):
    """Fail a test whose pages have errors that its `page_errors` mark does not name."""
    page_errors.heard.clear()
    yield
    marks = request.node.iter_markers("page_errors")
    page_errors.check([pattern for mark in marks for pattern in mark.args])


@pytest.fixture(scope="session")
def chromium(page_errors):
    """Debian's Chromium, driven by Playwright; one process for all tests of a worker.

    Errors are heard in every context that a test opens in it.
    """
    path = chromium_build.path()
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium-headless-shell")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=chromium_build.ARGS
        )
        browser.on("context", page_errors.listen)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A fresh desktop page without cookies."""
    context = chromium.new_context(
        viewport={"width": 1440, "height": 900},
        # Its requests would pass by those that tests intercept.
        service_workers="block",
    )
    yield context.new_page()
    context.close()
