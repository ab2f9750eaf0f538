from django.apps import AppConfig
from django.db.models.signals import pre_migrate


class EvalcoreConfig(AppConfig):
    name = "evalcore"
    verbose_name = "What is judged"

    def ready(self) -> None:
        # Celery's `shared_task` functions bind to this application.
        from evalcore import celery  # noqa: F401
        from evalcore.serving import request_log, schema

        request_log.connect()
        pre_migrate.connect(schema.refuse_old_tables, sender=self)
