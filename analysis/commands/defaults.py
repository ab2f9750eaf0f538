"""What each command reports, in words, and what it draws for intervals unless told."""

DOES = {
    "align": "how well metrics agree with people",
    "agreement": "how well people agree with one another",
    "leaderboard": "a ranking from side-by-side answers, or from orders of several "
    "outputs",
    "power": "what larger studies than a pilot would show",
    "subset": "whether fewer stories keep the means and the order of the methods",
    "stability": "how stable a judge is over repeated trials, and whom it agrees with",
}
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

    Examples
    --------
    >>> drawn("leaderboard"), drawn("leaderboard", majority=True)
    ('stories+annotators', 'stories')
    """
    return "stories" if majority else RESAMPLE_DEFAULTS[command]


def title(command: str) -> str:
    """Return the heading of a report that was given none."""
    return f"Report: {DOES[command]}"
