"""Templates without what teaches people first, for tests that only need a study."""

from annotate.studies.definition import StudyDefinition
from annotate.studies.study_file import load_definition


def untrained(name: str) -> StudyDefinition:
    """Return a template whose people begin at once, without training and examples."""
    definition = load_definition(name)
    return definition.without_degradations().with_changes(training=None)
