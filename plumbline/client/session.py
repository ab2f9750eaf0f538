"""The session of an annotator: a front end of one's own, or a robot for tests."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import httpx2

from plumbline.client.sending import Connection

PATH = "/api/v1/session/"
# What somebody does next, as the server describes it: `next`, `text`, `story`, ...
Standing = dict[str, Any]
Story = dict[str, Any]
Answers = Mapping[str, str | int | None]


class Session:
    """One annotator's session, by the secret of the personal link.

    Every method returns what to do next: a dictionary whose ``next`` is one of
    ``consent``, ``instructions``, ``warning``, ``training``, ``story``, ``break``,
    ``wait``, ``done`` and ``stopped``.

    Parameters
    ----------
    address : str
        The server's address.
    token : str
        The last part of the personal link.
    language : str
        The language of texts, such as ``zh``.
    transport : httpx2.BaseTransport, optional
        What sends requests, for tests and proxies.

    Examples
    --------
    >>> from plumbline.client import Session
    >>> robot = Session("http://127.0.0.1:8000", "TOKEN")
    >>> end = robot.work(lambda story: {"quality": 3})  # doctest: +SKIP
    >>> end["completion"]["code"]  # doctest: +SKIP
    'M7K2Q9WD'
    """

    def __init__(
        self,
        address: str,
        token: str,
        *,
        language: str = "en",
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.token = token
        self.connection = Connection(
            address,
            f"Invitation {token}" if token else "",
            language=language,
            has_keys=not token,  # all else can be repeated without harm
            transport=transport,
        )

    @classmethod
    def join(
        cls,
        address: str,
        link: str,
        *,
        language: str = "en",
        transport: httpx2.BaseTransport | None = None,
        **about: Any,
    ) -> Self:
        """Join a study by its public link, and return the new person's session.

        Parameters
        ----------
        address : str
            The server's address.
        link : str
            The last part of the public link.
        language : str
            The language of texts, and of the study if it has several.
        transport : httpx2.BaseTransport, optional
            What sends requests.
        **about
            ``parameters`` of a platform, and the secret of a ``device``.
        """
        with cls(address, "", language=language, transport=transport) as visitor:
            joined = visitor._do("join/", link=link, language=language, **about)
        return cls(address, joined["token"], language=language, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()

    def _do(self, action: str, **body: Any) -> Standing:
        found: Standing = self.connection.post(f"{PATH}{action}", **body)
        return found

    def standing(self) -> Standing:
        """Return what to do next."""
        found: Standing = self.connection.get(PATH)
        return found

    def consent(self, version: str) -> Standing:
        """Agree to the text of a version, which ``standing`` returns."""
        return self._do("consent/", agree=True, version=version)

    def decline(self) -> Standing:
        """Refuse the consent."""
        return self._do("consent/", agree=False, version="")

    def instructions(self) -> dict[str, Any]:
        """Return the instructions, and the questions with their examples."""
        found: dict[str, Any] = self.connection.get(f"{PATH}instructions/")
        return found

    def confirm_instructions(self) -> Standing:
        """Confirm that the instructions were read."""
        return self._do("instructions/")

    def confirm_warning(self) -> Standing:
        """Confirm that a warning was read."""
        return self._do("warning/")

    def take(self) -> Standing:
        """Take the next story: ``story`` holds it, if there is one."""
        return self._do("story/")

    def story(self, code: str) -> Story:
        """Return a story that was taken, with the answers given so far."""
        found: Story = self.connection.get(f"{PATH}story/{code}/")
        return found

    def picture(self, address: str) -> bytes:
        """Return a picture or video of a story, by its address there."""
        return self.connection.send("GET", address).content

    def draft(self, code: str, answers: Answers | None = None, **more: Any) -> Standing:
        """Store answers without submitting; None takes an answer back.

        ``more`` are ``ticked``, ``comment``, ``shot_comments`` and ``faults``.
        """
        return self._do(f"story/{code}/answers/", **_given(answers, more))

    def submit(
        self, code: str, answers: Answers | None = None, **more: Any
    ) -> Standing:
        """Submit all answers to a story.

        ``more`` are ``seconds``, ``in_sight``, and all that `draft` takes.
        """
        return self._do(f"story/{code}/submit/", **_given(answers, more))

    def heartbeat(self, code: str) -> Standing:
        """Keep a story for longer."""
        return self._do(f"story/{code}/heartbeat/")

    def skip(self, code: str, reason: str, comment: str = "") -> Standing:
        """Skip a story: ``broken``, ``unclear``, ``upsetting`` or ``other``."""
        return self._do(f"story/{code}/skip/", reason=reason, comment=comment)

    def finish(self) -> Standing:
        """Finish early, if ``may_finish``."""
        return self._do("finish/")

    def withdraw(self, *, keep_answers: bool) -> Standing:
        """Withdraw from the study, with or without the answers."""
        return self._do("withdraw/", answers="keep" if keep_answers else "leave_out")

    def come_back(self) -> Standing:
        """Take a place again, if ``may_return``."""
        return self._do("return/")

    def work(
        self,
        answer: Callable[[Story], Mapping[str, Any]],
        *,
        most: int = 1000,
        seconds: float | None = None,
        further: bool = False,
    ) -> Standing:
        """Agree, read, and rate stories until none is left; return how it ended.

        Parameters
        ----------
        answer : callable
            Takes a story; returns its answers by question, or for a checklist
            ``{"ticked": {shot: [boxes]}}``.
        most : int
            The most stories to submit.
        seconds : float, optional
            The time on each story to report.
        further : bool
            Whether to rate further stories after the end, while `may_continue`.
        """
        standing = self.standing()
        submitted = 0
        while submitted < most:
            is_further = further and standing["may_continue"]
            match "story" if is_further else standing["next"]:
                case "consent":
                    standing = self.consent(standing["consent_version"])
                case "instructions":
                    standing = self.confirm_instructions()
                case "warning":
                    standing = self.confirm_warning()
                case "training" | "story" | "break":
                    taken = self.take()
                    if taken["story"] is None:
                        is_stuck = taken["next"] in ("training", "story", "break")
                        if is_stuck or is_further:
                            return taken
                        standing = taken
                        continue
                    given = dict(answer(taken["story"]))
                    body: dict[str, Any] = (
                        given if "ticked" in given else {"answers": given}
                    )
                    if seconds is not None:
                        body["seconds"] = seconds
                    standing = self.submit(taken["story"]["code"], **body)
                    submitted += 1
                case _end:
                    break
        return standing


def _given(answers: Answers | None, more: Mapping[str, Any]) -> dict[str, Any]:
    if answers is None:
        return dict(more)
    return {
        **more,
        "answers": {
            key: value if value is None else str(value)
            for key, value in answers.items()
        },
    }
