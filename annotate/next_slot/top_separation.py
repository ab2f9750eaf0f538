"""Whether the best methods of an adaptive study are the best for others, too.

The same test as in its report: of other stories and other annotators.
"""

from typing import TYPE_CHECKING

from django.db.models import QuerySet

from annotate.models import Choice, Study

if TYPE_CHECKING:
    from analysis.rankings.top_methods import TopMethods


def best(study: Study, answers: "QuerySet[Choice]", size: int) -> "TopMethods":
    """Return the best methods, by the texts of their keys, and the test of the set.

    Loads the statistics, which a worker of the web does without before it is near the
    end of a study.
    """
    import pandas as pd

    from analysis.rankings.leaderboard import leaderboard
    from analysis.rankings.top_methods import TopMethods, top_methods

    unit = "slot__unit__"
    fields = {
        "story": f"{unit}story",
        "method_a": f"{unit}output_a__method",
        "method_b": f"{unit}output_b__method",
        "annotator": "annotator",
        "choice": "value",
    }
    rows = list(answers.order_by().values_list(*fields.values()))
    if not rows:
        return TopMethods((), float("nan"))
    choices = pd.DataFrame(rows, columns=[*fields]).astype(str)
    found = leaderboard(choices, criterion=study.adaptive["question"])
    ranks = {row.method: row.rank for row in found.rows}
    return top_methods(ranks, found.comparisons, size)
