"""What every tool is given to have judged, and who judges it."""

# So many that those who wait for their turn with a story in hand hold nobody up, where
# all outputs are to have about equally many answers.
STORIES, METHODS, SHOTS = 240, 10, 10
REDUNDANCY = 10  # people for each output
QUESTIONS = {
    "character": "Is it the same character?",
    "beauty": "How nice is it?",
    "text": "How well does it follow the text?",
}
LOWEST, HIGHEST = 0, 4


def outputs() -> list[dict]:
    """Return what is judged: a story as one of the methods has told it."""
    return [
        {
            "id": f"S{story:03}-M{method:02}",
            "title": f"Story {story}",
            "shots": [shot(story, method, number) for number in range(1, SHOTS + 1)],
        }
        for story in range(1, STORIES + 1)
        for method in range(METHODS)
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
