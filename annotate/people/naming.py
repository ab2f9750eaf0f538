"""The pseudonyms under which annotators stand in tables: A01, A02, and so on."""

from collections.abc import Mapping

from annotate.models import Annotator, Study


def name_people(
    study: Study, people: Mapping[str, int], **fields: object
) -> list[Annotator]:
    """Add so many people of each language, counted on from those that are there."""
    first = _next_number(study)
    languages = [name for name, count in people.items() for _i in range(count)]
    width = max(2, len(str(first + len(languages) - 1)))
    return Annotator.objects.bulk_create(
        Annotator(study=study, name=f"A{number:0{width}}", language=language, **fields)
        for number, language in enumerate(languages, start=first)
    )


def new_pseudonym(study: Study) -> str:
    """Return a name that nobody has had. Call with the study locked."""
    return f"A{_next_number(study):02}"


def is_pseudonym(name: str) -> bool:
    """Say whether a name was made here, and not by whoever wrote an imported file."""
    return name[:1] == "A" and name[1:].isdecimal()


def _next_number(study: Study) -> int:
    names = study.annotators.values_list("name", flat=True)
    return max((int(name[1:]) for name in names if is_pseudonym(name)), default=0) + 1
