"""The job that every tool is given, and what a tool is.

A tool's module has a class of it: `kind`, the module's name; `most`, stories a second
that it surely stays below; `ready` installs what is missing and holds what its
measurements share; `served` serves a new study; `stored` returns what is on the disk of
it after the server was killed. Its `Seat` does the least that the tool's own page does:
`enter`, `answer` three questions, `turn` to the next story, `close`.
"""

from dataclasses import dataclass

from benchmarks.human_pace import METHODS, STORIES
from benchmarks.human_pace import QUESTIONS as QUESTIONS

SHOTS, REDUNDANCY = 10, 10  # people for each output
LOWEST, HIGHEST = 0, 4
PASSWORD = "A long-enough word 7"


def outputs() -> list[dict]:
    """Return an output to rate: a story as one of the methods rendered it."""
    return [
        {
            "id": f"S{story:03}-M{method:02}",
            "title": f"Story {story}",
            "shots": [shot(story, method, number) for number in range(1, SHOTS + 1)],
        }
        for story in range(1, STORIES + 1)
        for method in range(len(METHODS))
    ]


def shot(story: int, method: int, number: int) -> dict[str, str]:
    """Return a picture's address, which nobody fetches, and its text."""
    return {
        "url": f"/pictures/{story:03}/{method:02}/{number:02}.webp",
        "caption": f"A wood, part {number}. Fox walks {number}",
    }


def answers(number: int) -> list[int]:
    """Return the values that somebody gives to their n-th story."""
    return [(number + place) % (HIGHEST + 1) for place in range(len(QUESTIONS))]


Stored = dict[str, list[int]]  # the three values, by the name they are stored under


@dataclass
class Served:
    """A server at work, what its people need to come in, and all its processes."""

    base: str
    people: list[str]
    pids: list[int]
