from django.apps import AppConfig


class EvalcoreConfig(AppConfig):
    name = "evalcore"
    verbose_name = "What is judged"

    def ready(self) -> None:
        # Celery's `shared_task` functions bind to this application.
        from evalcore import celery  # noqa: F401
        from evalcore.serving import request_log

        request_log.connect()
