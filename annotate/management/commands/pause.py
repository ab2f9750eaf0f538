from annotate.management.studies import LifecycleCommand
from annotate.studies import lifecycle


class Command(LifecycleCommand):
    help = (
        "Take no answers for a while; links stay valid, nothing is lost. "
        "Example: pause pilot"
    )
    move = staticmethod(lifecycle.pause)
