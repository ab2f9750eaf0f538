"""Words and tables of uploads' previews."""

from django.utils.translation import gettext as _

from annotate.models import Upload

# The column of videos, which most outputs do without.
VIDEOS = 3


def kind_labels() -> dict[str, str]:
    """Return what an upload can be, with the page's words."""
    return {
        "stories": _("Stories"),
        "outputs": _("Outputs of methods"),
        "scores": _("Metric scores"),
        "ratings": _("Ratings of people"),
        "choices": _("Choices of people"),
        "rankings": _("Rankings of people"),
    }


def figures_of(upload: Upload) -> list[tuple[str, int]]:
    """Return the counts of a preview with their labels."""
    labels = {
        "methods": _("methods"),
        "stories": _("stories"),
        "shots": _("shots"),
        "characters": _("characters"),
        "references": _("reference pictures"),
        "pictures": _("pictures"),
        "videos": _("videos"),
        "missing": _("missing shots"),
        "metrics": _("metrics"),
        "scores": _("scores"),
        "new": _("new scores"),
        "replaced": _("replaced scores"),
        "answers": _("answers"),
        "annotators": _("annotators"),
        "ratings": _("ratings"),
    }
    figures = upload.found.get("figures", {})
    return [(labels[name], figures[name]) for name in labels if figures.get(name)]


def table_of(upload: Upload) -> dict[str, object]:
    """Return the columns and rows of a preview's table; numbers are aligned."""
    kind = upload.chosen.get("kind", "")
    columns = {
        "outputs": (
            (_("Method"), False),
            (_("Stories"), True),
            (_("Pictures"), True),
            (_("Videos"), True),
            (_("Missing shots"), True),
            (_("Sizes"), False),
        ),
        "stories": (
            (_("Story"), False),
            (_("Title"), False),
            (_("Shots"), True),
            (_("Characters"), True),
        ),
        "scores": (
            (_("Metric"), False),
            (_("Scores"), True),
            (_("Direction"), False),
        ),
    }.get(kind, ((_("Question"), False), (_("Answers"), True)))
    rows = upload.found.get("rows", [])
    if kind == "outputs" and not any(row[VIDEOS] for row in rows):
        columns = columns[:VIDEOS] + columns[VIDEOS + 1 :]
        rows = [row[:VIDEOS] + row[VIDEOS + 1 :] for row in rows]
    are_numbers = [is_number for _label, is_number in columns]
    return {
        "columns": columns,
        "rows": [zip(row, are_numbers, strict=True) for row in rows],
    }
