from annotate import lifecycle
from annotate.management.studies import LifecycleCommand


class Command(LifecycleCommand):
    help = (
        "Open a study for its annotators; also resumes and reopens one. "
        "Example: launch pilot"
    )
    move = staticmethod(lifecycle.launch)
