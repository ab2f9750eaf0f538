from django.apps import AppConfig


class AnalysisWebConfig(AppConfig):
    name = "analysis.web"
    label = "analysis_web"
    verbose_name = "Reports"
