from typing import Any

from annotate.management import StudyCommand
from annotate.models import Study
from annotate.presentation import same_size
from annotate.studies import lifecycle


class Command(StudyCommand):
    help = "Open a study to annotators; also resume or reopen it. Example: launch pilot"
    refused = (lifecycle.LifecycleError,)

    def work(self, study: Study, **_options: Any) -> None:
        before = study.state
        after = lifecycle.launch(study)
        already = " already" if before == after.state else ""
        self.stdout.write(f"{study.slug} is {after.get_state_display()}{already}.")
        if before == Study.State.DRAFT:
            for note in same_size.aspect_ratio_notes(same_size.outputs_of(after)):
                self.stderr.write(f"note: {note.text}")
        if lifecycle.reach(after).is_empty:
            self.stderr.write(
                f"note: nobody has a link yet; create links with: invite {study.slug}"
                + " --join 20" * after.is_open
            )
