"""Static files of a deployment: scripts name each other as pages preload them."""

import re

from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.management import call_command
from django.templatetags.static import static

IMPORT = re.compile(r'(?:from|import\()\s*"\./([^"]+)"')
STORAGE = "evalcore.serving.web_server.HashedStaticFiles"


def test_modules_import_the_preloaded_addresses(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": STORAGE}}
    call_command("collectstatic", interactive=False, verbosity=0)
    folder = "plumbline/annotator/"
    sources = settings.BASE_DIR / "annotate" / "static" / folder
    named = 0
    for source in sources.glob("*.js"):
        deployed = tmp_path / staticfiles_storage.stored_name(folder + source.name)
        found = IMPORT.findall(deployed.read_text("utf-8"))
        meant = IMPORT.findall(source.read_text("utf-8"))
        assert found == [static(folder + name).rsplit("/", 1)[1] for name in meant]
        assert all(re.search(r"\.[0-9a-f]{12}\.js$", name) for name in found)
        named += len(found)
    assert named >= 6
