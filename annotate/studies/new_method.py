"""A method that joins a running study with an output of every story.

See docs/decisions/0038-a-method-joins-an-open-study.md.
"""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotate.models import Study, User
from annotate.studies.changing import ChangeError, names_now
from annotate.studies.extending import Extension, extend
from evalcore.models import Output

RUNNING = (Study.State.OPEN, Study.State.PAUSED)
SHOWN = 10


def check_new(study: Study, method: str) -> None:
    """Refuse a method that cannot join the study, before its outputs are read.

    Raises
    ------
    ChangeError
        The study is not running, or has the method.
    """
    if study.state not in RUNNING:
        raise ChangeError(
            _("A method can join only a study that is running or paused.")
        )
    if method in study.method_names:
        raise ChangeError(
            _("The study has %(method)s already. Give the new method another name.")
            % {"method": method}
        )


def join_method(
    study: Study,
    method: str,
    *,
    against: Sequence[str] = (),
    user: User | None = None,
) -> Extension:
    """Let a method with imported outputs join the study, and assign its ratings.

    Raises
    ------
    ChangeError
        The method cannot join, or lacks an output of a story.
    """
    check_new(study, method)
    _methods, stories = names_now(study)
    own = Output.objects.filter(
        story__benchmark=study.benchmark, method__name=method, degradation=""
    )
    lacking = sorted(stories - {*own.values_list("story__key", flat=True)})
    if lacking:
        named = ", ".join(lacking[:SHOWN]) + ", ..." * (len(lacking) > SHOWN)
        raise ChangeError(
            _("%(method)s has no output of these stories: %(stories)s.")
            % {"method": method, "stories": named}
        )
    return extend(study, methods=[method], against=against, user=user)
