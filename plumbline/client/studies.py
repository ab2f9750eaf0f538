"""The client of managers and researchers."""

import io
import json
import time
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import httpx2

from plumbline.client.jobs import Job, send_file, size_of, wait_for, zipped
from plumbline.client.rows import Invitation, MethodProgress, Study, row_of
from plumbline.client.sending import Connection
from plumbline.client.tables import read_table

if TYPE_CHECKING:
    import pandas as pd

API = "/api/v1/"


class Client:
    """A Plumbline server, with the token of an account.

    Requests are repeated while the server is away; a repeated request is carried out
    once.

    Parameters
    ----------
    address : str
        The server's address, such as ``https://ratings.example.org``.
    token : str
        A token from *Your account*. Its scope decides what is allowed.
    timeout : float
        Seconds to wait for one answer.
    every : float
        Seconds between two questions whether a job is done.
    transport : httpx2.BaseTransport, optional
        What sends requests, for tests and proxies.

    Examples
    --------
    >>> from plumbline import Client
    >>> client = Client("http://127.0.0.1:8000", "TOKEN")
    >>> client.add_method("pilot", "step-2000", "out/step-2000")  # doctest: +SKIP
    >>> client.wait_until("pilot", method="step-2000")  # doctest: +SKIP
    >>> client.leaderboard("pilot")  # doctest: +SKIP
    """

    def __init__(
        self,
        address: str,
        token: str,
        *,
        timeout: float = 60.0,
        every: float = 2.0,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.every = every
        self.connection = Connection(
            address, f"Bearer {token}", timeout=timeout, transport=transport
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()

    # Studies

    def studies(self) -> list[Study]:
        """Return the studies that the token may see, the newest first."""
        rows = self.connection.pages(f"{API}studies/", limit=1000)
        return [row_of(Study, row) for row in rows]

    def study(self, study: str) -> dict[str, Any]:
        """Return a study with its methods, questions and settings."""
        found: dict[str, Any] = self.connection.get(_of(study))
        return found

    def create_study(
        self,
        study: str,
        benchmark: str,
        definition: str | Path | Mapping[str, Any],
        *,
        annotators: int = 0,
        methods: Sequence[str] = (),
        stories: Sequence[str] = (),
    ) -> Study:
        """Set up a draft study.

        Parameters
        ----------
        study : str
            Its web address name.
        benchmark : str
            The benchmark whose outputs are rated.
        definition : str, Path or mapping
            The study file: its text, its path, or its content.
        annotators : int
            The people of a planned study.
        methods, stories : sequence of str
            What is rated; all if empty.
        """
        if isinstance(definition, Path):
            definition = definition.read_text(encoding="utf-8")
        is_text = isinstance(definition, str)
        body = {
            "slug": study,
            "benchmark": benchmark,
            "annotators": annotators,
            "methods": list(methods),
            "stories": list(stories),
            "study_file" if is_text else "definition": definition,
        }
        reply = self.connection.send("POST", f"{API}studies/", json=body)
        if reply.status_code == httpx2.codes.ACCEPTED:
            self._wait(reply.headers["Location"])
        return row_of(Study, self.study(study))

    def launch(self, study: str) -> Study:
        """Launch a draft, or resume a paused study."""
        return self._do(study, "launch")

    def pause(self, study: str) -> Study:
        """Pause a study: nobody can answer, and links stay valid."""
        return self._do(study, "pause")

    def close(self, study: str) -> Study:
        """Close a study: no more answers are collected."""
        return self._do(study, "close")

    def _do(self, study: str, change: str) -> Study:
        return row_of(Study, self.connection.post(_of(study, "state/"), do=change))

    # People

    def invite(self, study: str, count: int = 1, **about: Any) -> list[Invitation]:
        """Create personal links for the next planned people.

        Parameters
        ----------
        study : str
            The study.
        count : int
            How many.
        **about
            ``new=True`` for people beyond the plan, their ``language``, a ``note``.
        """
        found = self.connection.post(_of(study, "people/invite/"), count=count, **about)
        return [row_of(Invitation, one) for one in found["made"]]

    def public_link(self, study: str, places: int, **about: Any) -> str:
        """Create a public link, and return its address.

        ``about`` are ``language``, ``cap``, ``any_device`` and ``note``.
        """
        found = self.connection.post(_of(study, "links/"), places=places, **about)
        return str(found["address"])

    # Progress and tables

    def progress(self, study: str) -> dict[str, Any]:
        """Return the numbers of ratings, the expected end, alerts and goals."""
        found: dict[str, Any] = self.connection.get(_of(study, "progress/"))
        return found

    def methods(self, study: str) -> list[MethodProgress]:
        """Return the methods with the ratings that they need and have."""
        rows = self.connection.get(_of(study, "methods/"))
        return [row_of(MethodProgress, row) for row in rows]

    def table(self, study: str, table: str, **query: Any) -> "pd.DataFrame":
        """Return a table, such as ``ratings``, ``choices`` or ``scores``.

        Parameters
        ----------
        study : str
            The study.
        table : str
            The table's name.
        **query
            The key of a filter as ``view``, an event of the log as ``as_of``.
        """
        path = _of(study, f"{table}.csv")
        return read_table(self.connection.send("GET", path, params=query).text)

    def export(self, study: str, folder: str | Path, **options: Any) -> Path:
        """Export tables on the server; return their file, or an archive of several.

        ``options`` are ``table``, ``layout``, ``format``, ``view``, ``as_of``,
        ``with_scores`` and ``bom``.
        """
        return self._fetch(study, "exports/", folder, **options)

    def bundle(self, study: str, folder: str | Path, *, pictures: bool = True) -> Path:
        """Export a study as one file, which ``plumbline import`` reads elsewhere."""
        return self._fetch(study, "bundles/", folder, pictures=pictures)

    def _fetch(self, study: str, what: str, folder: str | Path, **body: Any) -> Path:
        """Wait for an export, and store its file in a folder."""
        asked = self.connection.post(_of(study, what), **body)
        path = _of(study, f"exports/{asked['id']}/")
        done = self._wait(path)
        place = Path(folder) / Path(done["name"]).name
        place.parent.mkdir(parents=True, exist_ok=True)
        self.connection.save(f"{path}file/", place, sha256=done["sha256"])
        return place

    def leaderboard(self, study: str) -> "pd.DataFrame":
        """Return the methods by question, the best first, with 95 % intervals.

        Columns are ``question, method, rank, rank_low, rank_high, value, low, high, n,
        kind``; ``attrs["notes"]`` has remarks.
        """
        import pandas as pd

        found = self.connection.get(_of(study, "leaderboard/"))
        names = ["question", "method", "rank", "rank_low", "rank_high"]
        names += ["value", "low", "high", "n", "kind"]
        frame = pd.DataFrame(found["rows"], columns=names)
        frame.attrs["notes"] = found["notes"]
        return frame

    def post_scores(
        self,
        study: str,
        scores: "pd.DataFrame | Iterable[Mapping[str, Any]]",
        *,
        replace: bool = False,
    ) -> dict[str, Any]:
        """Post metric scores for this study, all of them or none.

        Parameters
        ----------
        study : str
            The study.
        scores : DataFrame or rows
            Columns ``story, method, metric, score`` and others of the scores table.
        replace : bool
            Whether to overwrite values that differ.
        """
        import pandas as pd

        frame = scores if isinstance(scores, pd.DataFrame) else pd.DataFrame([*scores])
        plain = json.loads(frame.to_json(orient="records", date_format="iso"))
        path = _of(study, "scores/")
        found: dict[str, Any] = self.connection.post(
            path, scores=plain, replace=replace
        )
        return found

    # Outputs

    def import_files(self, folder: str | Path, *, benchmark: str = "") -> str:
        """Import a folder or file of stories, outputs, scores or judgements.

        The server finds out what it is; whatever else is in the folder is imported
        after it. Everything of a part is stored, or nothing.

        Parameters
        ----------
        folder : str or Path
            What to import.
        benchmark : str
            The benchmark to import into; a new one if empty.

        Returns
        -------
        str
            The benchmark.
        """
        place = Path(folder)
        with zipped(place) as file:
            name = place.name if place.is_file() else f"{place.name}.zip"
            body: dict[str, Any] = {"name": name, "files": [[name, size_of(file), 0]]}
            if benchmark:
                body["benchmark"] = benchmark
            upload = self.connection.post(f"{API}uploads/", **body)
            send_file(self.connection, upload, file)
        while True:
            path = f"{API}uploads/{upload['id']}/"
            self._wait(path, stage="inspect")
            self.connection.post(f"{path}import/")
            imported = self._wait(path, stage="import")
            if not imported["found"].get("parts"):
                return str(imported["benchmark"])
            upload = self.connection.post(f"{path}continue/", part=0)

    def add_method(
        self,
        study: str,
        method: str,
        folder: str | Path | None = None,
        *,
        against: Sequence[str] = (),
    ) -> MethodProgress:
        """Let a new method join a running study, with an output of every story.

        Its outputs are imported and it joins, or nothing is stored.

        Parameters
        ----------
        study : str
            The study.
        method : str
            The new name, such as ``step-2000``.
        folder : str or Path, optional
            A folder of pictures, or a video, for every story; a zip of them. Without
            it, outputs that were imported before join.
        against : sequence of str
            Side by side: the methods to compare it with; as the study pairs its
            methods if empty.
        """
        path, body = _of(study, "methods/"), {"method": method, "against": [*against]}
        if folder is None:
            self.connection.post(path, **body)
        else:
            with zipped(Path(folder)) as file:
                upload = self.connection.post(path, bytes=size_of(file), **body)
                send_file(self.connection, upload, file)
            self._wait(f"{API}uploads/{upload['id']}/", stage="import")
        return next(row for row in self.methods(study) if row.method == method)

    def wait_until(
        self,
        study: str,
        *,
        method: str = "",
        share: float = 1.0,
        every: float = 60.0,
        timeout: float | None = None,
    ) -> int:
        """Wait until enough people answered; return the number of ratings.

        Parameters
        ----------
        study : str
            The study.
        method : str
            The method whose ratings count; all of them if empty.
        share : float
            The share of the wanted ratings that is enough.
        every : float
            Seconds between two looks.
        timeout : float, optional
            Seconds after which `TimeoutError` is raised.
        """
        begun = time.monotonic()
        while True:
            if method:
                rows = [row for row in self.methods(study) if row.method == method]
                if not rows:
                    raise KeyError(f"{study} has no method {method}")
                submitted, wanted = rows[0].submitted, rows[0].wanted
            else:
                numbers = self.connection.get(_of(study, "coverage/"))
                submitted, wanted = numbers["submitted"], numbers["wanted"]
            if submitted >= share * wanted:
                return int(submitted)
            if timeout is not None and time.monotonic() - begun + every > timeout:
                text = f"{study}: {submitted} of {wanted} ratings after {timeout:g} s"
                raise TimeoutError(text)
            time.sleep(every)

    # Reports

    def report(self, study: str, folder: str | Path, **options: Any) -> Path:
        """Make a report on the server, unpack it into a folder, and return its page.

        ``options`` are those of the API: ``questions``, ``metrics``, ``resamples``, ...
        """
        asked = self.connection.post(_of(study, "reports/"), **options)
        path = _of(study, f"reports/{asked['id']}/")
        self._wait(path)
        packed = self.connection.send("GET", f"{path}all.zip").content
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(folder)
        return next(Path(folder).rglob("report.html"))

    def _wait(self, path: str, stage: str = "") -> Job:
        """Wait until a job is done, of an upload until that stage is."""

        def is_over(job: Job) -> bool:
            return job["state"] == "done" and (not stage or job["stage"] == stage)

        return wait_for(self.connection, path, is_over=is_over, every=self.every)


def _of(study: str, rest: str = "") -> str:
    return f"{API}studies/{study}/{rest}"
