"""Static files of a deployment: each under a name that changes with its content."""

from django.contrib.staticfiles.storage import HashedFilesMixin
from whitenoise.storage import CompressedManifestStaticFilesStorage

_imports = HashedFilesMixin._js_module_import_aggregation_patterns[1]  # type: ignore[attr-defined] # private


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc] # untyped
    """Modules of the seat name each other by the addresses that pages preload.

    Scripts of other packages stay as they are: some name files that are not there.
    """

    support_js_module_import_aggregation = True
    _js_module_import_aggregation_patterns = ("plumbline/seat/*.js", _imports)
