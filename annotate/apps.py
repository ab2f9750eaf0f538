from importlib import import_module

from django.apps import AppConfig


class AnnotateConfig(AppConfig):
    name = "annotate"
    verbose_name = "People and their answers"

    def ready(self) -> None:
        """Load the kinds of questions, which may bring a table of answers."""
        import_module("annotate.kinds.registry")
