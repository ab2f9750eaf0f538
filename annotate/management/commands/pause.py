from annotate import lifecycle
from annotate.management.studies import LifecycleCommand


class Command(LifecycleCommand):
    help = (
        "Take no answers for a while; links stay valid, nothing is lost. "
        "Example: pause pilot"
    )
    move = staticmethod(lifecycle.pause)
