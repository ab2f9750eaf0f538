"""What axe finds on a page."""

from axe_core_python.base import AXE_SCRIPT

# Only what is wrong comes back: all that is right would be megabytes.
RUN = """(only) => axe.run(document, { resultTypes: ["violations"], ...only })
  .then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))"""

OF_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}


def violations(page, **only) -> list[tuple[str, str]]:
    """Return each broken rule with the first element that breaks it."""
    page.evaluate(AXE_SCRIPT)
    return [(rule, html[:200]) for rule, html in page.evaluate(RUN, only)]


def violations_of_both_themes(page) -> list[tuple[str, str]]:
    """Return what is wrong in the light, and of colours in the dark."""
    found = violations(page)
    page.emulate_media(color_scheme="dark")
    found += violations(page, runOnly=OF_COLOURS)
    page.emulate_media(color_scheme="light")
    return found
