"""Static files of a deployment: each under a name that changes with its content."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    """Modules name each other by the same addresses as pages preload them."""

    support_js_module_import_aggregation = True
