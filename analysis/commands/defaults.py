"""Default options and descriptions of the commands."""

DOES = {
    "align": "how well metrics agree with people",
    "agreement": "how well people agree with one another",
    "leaderboard": "a ranking from side-by-side answers, or from orders of several "
    "outputs",
    "power": "what larger studies than a pilot would show",
    "subset": "whether fewer stories keep the means and the order of the methods",
    "stability": "how stable a judge is over repeated trials, and whom it agrees with",
}
# How wide tables are read unless told.
WIDE = {
    "wide": False,
    "method_column": "method",
    "story_column": "story",
    "value_columns": (),
}
# What the first of them does without metrics.
OF_PEOPLE = "what people say of methods"
RESAMPLE_DEFAULTS = {
    "align": "stories+methods",
    "agreement": "units",
    "leaderboard": "stories+annotators",
    "power": "stories+methods",
    "subset": "stories+methods",
    "stability": "stories+methods",
}


def drawn(command: str, *, majority: bool = False) -> str:
    """Return the clusters that a command draws unless told.

    >>> drawn("leaderboard"), drawn("leaderboard", majority=True)
    ('stories+annotators', 'stories')
    """
    return "stories" if majority else RESAMPLE_DEFAULTS[command]


def title(command: str, *, with_metrics: bool = True) -> str:
    """Return the heading of a report that was given none.

    >>> title("align", with_metrics=False)
    'Report: what people say of methods'
    """
    if command == "align" and not with_metrics:
        return f"Report: {OF_PEOPLE}"
    return f"Report: {DOES[command]}"
