from django.core.management.base import BaseCommand

from evalcore.metrics import registry


class Command(BaseCommand):
    help = (
        "List the metrics: what each measures, and whether it is ready here. "
        "Example: metrics"
    )
    requires_system_checks = ()

    def handle(self, **_options: object) -> None:
        for name in registry.names():
            metric = registry.load(name)
            info = metric.info
            better = "higher" if info.higher_is_better else "lower"
            lacks = metric.missing()
            self.stdout.write(f"{name} (version {info.version}, {better} is better)")
            self.stdout.write(f"    {info.measures}")
            self.stdout.write(f"    scores each {info.scores}; source: {info.source}")
            self.stdout.write(f"    {'lacks ' + lacks if lacks else 'ready'}")
