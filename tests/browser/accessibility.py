"""Accessibility checks with axe."""

from axe_core_python.base import AXE_SCRIPT

# Only violations are returned, because passed checks take megabytes.
RUN = """(only) => axe.run(document, { resultTypes: ["violations"], ...only })
  .then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))"""

OF_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}


def violations(page, **only) -> list[tuple[str, str]]:
    """Return each violated rule with its first element."""
    page.evaluate(AXE_SCRIPT)
    return [(rule, html[:200]) for rule, html in page.evaluate(RUN, only)]


def violations_of_both_themes(page) -> list[tuple[str, str]]:
    """Return violations in the light theme, and of contrast in the dark one."""
    found = violations(page)
    page.emulate_media(color_scheme="dark")
    found += violations(page, runOnly=OF_COLOURS)
    page.emulate_media(color_scheme="light")
    return found
