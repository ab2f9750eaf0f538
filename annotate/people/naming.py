"""The pseudonyms under which annotators stand in tables: A01, A02, and so on."""

from collections.abc import Mapping

from annotate.models import Annotator, Study


def name_people(
    study: Study, people: Mapping[str, int], **fields: object
) -> list[Annotator]:
    """Add so many people of each language, counted on from those that are there.

    Call with the study locked: nobody else may count on meanwhile.
    """
    numbers = [
        int(name[1:])
        for name in study.annotators.values_list("name", flat=True)
        if name[:1] == "A" and name[1:].isdecimal()
    ]
    first = max(numbers, default=0) + 1
    languages = [name for name, count in people.items() for _i in range(count)]
    width = max(2, len(str(first + len(languages) - 1)))
    return Annotator.objects.bulk_create(
        Annotator(study=study, name=f"A{number:0{width}}", language=language, **fields)
        for number, language in enumerate(languages, start=first)
    )
