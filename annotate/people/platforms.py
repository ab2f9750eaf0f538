"""Crowd platforms: their parameters, completion addresses and rules."""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit


@dataclass(frozen=True)
class Platform:
    """A platform that sends people to a study and pays them.

    A host that begins with a dot stands for all hosts below it.
    """

    key: str
    title: str
    # Parameters with the person's id; the first one counts.
    ids: tuple[str, ...]
    # The parameter that names one attempt of a person, and the one of their study.
    session: str = ""
    study: str = ""
    # The placeholder of the platform for the value of a parameter.
    placeholder: str = ""
    # The address that hands in a code, and the hosts that such an address may have.
    completion: str = ""
    hosts: tuple[str, ...] = ()
    # The parameter with the server that takes a form at the end, and the path there.
    submit_to: str = ""
    submission: str = ""
    # The origins of its pages that show a study in a frame.
    frames: tuple[str, ...] = ()
    # Whether a completion address names the person, by the first of `ids`.
    credits_ids: bool = False
    # Whether everybody with the same outcome gets the same code.
    has_shared_codes: bool = True
    # Whether it gives the places of people who left to others.
    refills_places: bool = True

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.ids[0], self.study, self.session)))

    @property
    def query(self) -> str:
        """Return what is added to a public link, for the platform to fill in."""
        if not self.placeholder:
            return ""
        parts = (f"{one}={self.placeholder.format(one)}" for one in self.parameters)
        return "?" + "&".join(parts)

    def address(self, code: str) -> str:
        """Return the completion address of a code; empty if there is none."""
        return self.completion.format(code=code) if self.completion and code else ""

    def personal(self, address: str, person: str) -> str:
        """Return a completion address for a person, whom some platforms want named."""
        if not self.credits_ids or not address:
            return address
        parts = urlsplit(address)
        query = [one for one in parse_qsl(parts.query) if one[0] != self.ids[0]]
        named = urlencode([*query, (self.ids[0], person)]) if person else ""
        return urlunsplit(parts._replace(query=named)) if named else ""


PROLIFIC = Platform(
    "prolific",
    "Prolific",
    ids=("PROLIFIC_PID",),
    session="SESSION_ID",
    study="STUDY_ID",
    placeholder="{{{{%{}%}}}}",
    completion="https://app.prolific.com/submissions/complete?cc={code}",
    hosts=("app.prolific.com", "app.prolific.co"),
)
MTURK = Platform(
    "mturk",
    "Mechanical Turk",
    ids=("workerId",),
    session="assignmentId",
    study="hitId",
    submit_to="turkSubmitTo",
    submission="/mturk/externalSubmit",
    hosts=("www.mturk.com", "workersandbox.mturk.com"),
    frames=(
        "https://www.mturk.com",
        "https://worker.mturk.com",
        "https://workersandbox.mturk.com",
    ),
)
SONA = Platform(
    "sona",
    "SONA",
    ids=("survey_code", "id"),
    placeholder="%SURVEY_CODE%",
    hosts=(".sona-systems.com",),
    credits_ids=True,
)
CODES = Platform(
    "codes", "", ids=("rater",), has_shared_codes=False, refills_places=False
)
# Without a platform, the ids of all platforms are read.
ANY = Platform(
    "",
    "",
    ids=("PROLIFIC_PID", "workerId", "rater"),
    has_shared_codes=False,
    refills_places=False,
)
PLATFORMS = {one.key: one for one in (PROLIFIC, MTURK, SONA, CODES)}

# A name that looks as if its value were somebody's id.
LIKE_AN_ID = re.compile(
    r"(?=.*(?:id|participant|worker|user|rater|code|subject))[a-z0-9_.-]{2,40}",
    re.IGNORECASE,
)


def platform_named(key: str) -> Platform:
    return PLATFORMS.get(key, ANY)


def problem_of_address(platform: Platform, address: str) -> str:
    """Return what is wrong with an address for completed work; empty if nothing is."""
    allowed = " or ".join(one.lstrip(".") for one in platform.hosts)
    if not allowed:
        return "only prolific, mturk and sona have completion addresses"
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return "write a web address"
    if parts.scheme != "https" or port not in (None, 443) or "@" in parts.netloc:
        return f"write an address that begins with https:// and is on {allowed}"
    is_allowed = any(
        host == one or (one.startswith(".") and host.endswith(one))
        for one in platform.hosts
    )
    if is_allowed and not re.search(r"[\s\\]", address):
        return ""
    return f"people may be sent to {allowed} only, not to {host or 'nowhere'}"
