"""What must be done before the first story, and before the first one that counts.

Every way to a story asks here: its page and pictures, also fetched beforehand, what
scripts and forms send, the API, and the functions that lease slots and store answers.
"""

from django.utils.translation import gettext as _

from annotate.models import Annotator, Purpose, Unit


def lacking(person: Annotator, purpose: str = Purpose.TRAINING) -> str:
    """Say what is still to be done before a slot of this purpose; empty: nothing.

    Agreeing and reading the instructions come before everything, the training round
    before all that is not part of it.
    """
    if person.consented_at is None:
        return _("Please open your link and agree to take part first.")
    if person.instructed_at is None:
        return _("Please open your link and read the instructions first.")
    if purpose != Purpose.TRAINING and is_training_needed(person):
        return _("Please finish the training round first.")
    return ""


def is_training_needed(person: Annotator) -> bool:
    """Say whether this annotator has to pass a training round first."""
    if not person.study.training or person.trained_at is not None:
        return False
    units = Unit.objects.filter(study=person.study_id, purpose=Purpose.TRAINING)
    return units.exists()
