from annotate.management.studies import LifecycleCommand
from annotate.studies import lifecycle


class Command(LifecycleCommand):
    help = (
        "Open a study for its annotators; also resumes and reopens one. "
        "Example: launch pilot"
    )
    move = staticmethod(lifecycle.launch)
