"""A report in a notebook: shown, split into frames and figures, saved."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from analysis import options as defaults
from analysis.commands.requests import Request
from analysis.options import OptionError, check_known
from analysis.problems import one_of
from analysis.report.figure import Panel
from analysis.report.figures_verdicts import verdict_forest
from analysis.report.language import gettext, language
from analysis.report.page import templates
from analysis.report.sections import Findings, all_figures, findings
from analysis.report.verdict_grid import verdict_grids
from analysis.report.writing import check_folder, write_report
from analysis.result_tables.contract import Analysis

if TYPE_CHECKING:
    import plotly.graph_objects as go

IMAGES = {"svg": "svg", "png": "png", "none": ""}


@contextmanager
def keywords() -> Iterator[None]:
    """Name options in messages as keywords, without dashes."""
    try:
        yield
    except OptionError as error:
        text = re.sub(
            r"--([a-z-]+)", lambda option: option[1].replace("-", "_"), str(error)
        )
        raise OptionError(text) from None


class Report:
    """The result of an analysis.

    Its display gives the verdicts of each question, with the table of
    every metric by every statistic. ``report["correlations"]`` is a table, `figure` a
    plot, `save` writes the page.

    Attributes
    ----------
    notes
        What was left out, dropped or undefined, in plain sentences.
    """

    def __init__(self, found: Analysis, request: Request) -> None:
        notes = (*dict.fromkeys(request.remarks), *found.notes)
        self._found = replace(found, notes=notes)
        self._command = request.command
        self._run = request.run()
        self.notes = notes

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Every table by its name, each a copy.

        ``docs/reference/report-tables.md`` explains them.
        """
        return {name: self[name] for name in self}

    @property
    def verdicts(self) -> pd.DataFrame:
        """The claims about each metric: the table ``verdicts`` of `align`.

        Raises
        ------
        KeyError
            The other analyses judge no metric.
        """
        return self["verdicts"]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._found.tables, "run"])

    def __getitem__(self, name: str) -> pd.DataFrame:
        """Return a table by its name.

        Raises
        ------
        KeyError
            With the tables there are, and the nearest names.
        """
        tables = {**self._found.tables, "run": self._run}
        if name not in tables:
            raise KeyError(f"no table {name!r}: expected {one_of(str(name), tables)}")
        return tables[name].copy(deep=False)

    @property
    def figures(self) -> tuple[str, ...]:
        """The names that `figure` knows."""
        return tuple(self._figures)

    def figure(self, name: str = "forest", panel: str | None = None) -> "go.Figure":
        """Return a figure for plotly, to be shown or changed.

        Parameters
        ----------
        name
            One of `figures`. ``"forest"`` has each metric by the statistic that leads
            its question, beside chance and one annotator.
        panel
            One plot of the figure by its title, such as a question; by default all,
            below one another.

        Raises
        ------
        KeyError
            With the names there are.
        """
        if name not in self._figures:
            raise KeyError(f"no figure {name!r}: expected {one_of(name, self.figures)}")
        panels = self._figures[name]
        titles = [one.title for one in panels]
        if panel is not None and panel not in titles:
            expected = one_of(panel, titles)
            raise KeyError(f"figure {name!r}: no panel {panel!r}: expected {expected}")
        from analysis.report.rendering import plotly_figure  # loads plotly

        return plotly_figure([p for p in panels if panel in (None, p.title)])

    def save(
        self,
        out: str | PathLike[str],
        *,
        title: str | None = None,
        images: str = "svg",
        story_link: str = "",
    ) -> Path:
        """Write report.html, report.json, tables/ and figures/ as the command does.

        Parameters
        ----------
        out
            The folder; it is created. What else lies there is kept.
        title
            Heading of the page.
        images
            ``"svg"`` or ``"png"``: figures as files too, where Chromium is found;
            ``"none"``.
        story_link
            What a click on an output opens, as in
            ``https://host/stories/{story}#{method}``; by default nothing.

        Returns
        -------
        pathlib.Path
            The page.

        Raises
        ------
        OptionError
            Nothing can be written there; nothing is half-written then.
        """
        with keywords():
            check_known("--images", (images,), tuple(IMAGES))
            check_folder(Path(fspath(out)))
            return self.write(Path(fspath(out)), title, images, story_link)

    def write(
        self, out: Path, title: str | None, images: str, story_link: str = ""
    ) -> Path:
        """Write the folder as `save` does, of options that were checked."""
        return write_report(
            self._found,
            out=out,
            title=title or self._title,
            run=self._run,
            images=IMAGES[images],
            story_link=story_link,
        )

    @property
    def _title(self) -> str:
        with_metrics = "verdicts" in self._found.tables
        return defaults.title(self._command, with_metrics=with_metrics)

    def __repr__(self) -> str:
        with language(self._options["language"]):
            title = gettext(self._title)
        return "\n".join([title, *self._sentences(), f"Tables: {', '.join(self)}"])

    def _repr_html_(self) -> str:
        tables = self._found.tables
        template = templates().get_template("notebook.html")
        with language(self._options["language"]):
            return template.render(
                title=gettext(self._title),
                sentences=self._sentences(),
                grids=verdict_grids(tables) if "verdicts" in tables else [],
                tables=list(self),
            )

    def _sentences(self) -> list[str]:
        """Return the verdicts; of analyses without any, what the data show or not."""
        if self._findings.verdicts:
            every = chain.from_iterable(chain(*self._findings.verdicts))
            return [text for _shown, text in every]
        return [*self._findings.shown, *self._findings.not_shown]

    @cached_property
    def _findings(self) -> Findings:
        with language(self._options["language"]):
            return findings(self._found.tables, float(self._options["confidence"]))

    @cached_property
    def _options(self) -> dict[str, str]:
        return dict(zip(self._run["key"], self._run["value"], strict=True))

    @cached_property
    def _figures(self) -> dict[str, tuple[Panel, ...]]:
        verdicts = self._found.tables.get("verdicts")
        tables, cells = self._found.tables, self._found.cells
        with language(self._options["language"]):
            forest = () if verdicts is None else verdict_forest(verdicts)
            found = {"forest": forest} if forest else {}
            drawn = all_figures(tables, cells, more=True)
        return found | {figure.key: figure.panels for figure in drawn}
