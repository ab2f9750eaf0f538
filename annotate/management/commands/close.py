from annotate.management.studies import LifecycleCommand
from annotate.studies import lifecycle


class Command(LifecycleCommand):
    help = "Take no more answers; launch opens the study again. Example: close pilot"
    move = staticmethod(lifecycle.close)
