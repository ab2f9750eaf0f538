"""What axe finds on a page."""

from axe_core_python.base import AXE_SCRIPT

# Only what is wrong comes back: all that is right would be megabytes.
RUN = """() => axe.run(document, { resultTypes: ["violations"] })
  .then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))"""


def violations(page) -> list[tuple[str, str]]:
    """Return each broken rule with the first element that breaks it."""
    page.evaluate(AXE_SCRIPT)
    return [(rule, html[:200]) for rule, html in page.evaluate(RUN)]
