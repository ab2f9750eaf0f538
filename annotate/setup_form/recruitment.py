"""The form for a study's crowd platform, codes and pay, while the study runs."""

from django.utils.translation import gettext
from pydantic import ValidationError

from annotate.models import Study, User
from annotate.people.platforms import platform_named
from annotate.schema import DefinitionError, problems_of
from annotate.setup_form.sections import Sections
from annotate.setup_form.values import FormValues, leaves, nested
from annotate.studies.changing import change_recruitment
from annotate.studies.recruitment import Recruitment

ROOT = "recruitment"


class RecruitmentForm:
    """The section of the set-up form about recruitment, with problems in its fields."""

    def __init__(self, values: FormValues) -> None:
        self.values = values
        self.section = Sections(values).recruitment()

    @classmethod
    def of(cls, study: Study) -> "RecruitmentForm":
        return cls(FormValues(dict(leaves(study.recruitment, ROOT))))

    @property
    def is_wrong(self) -> bool:
        return self.section.wrong

    def save(self, study: Study, *, user: User) -> bool:
        """Store the values for a study; return whether they are right."""
        unread: list[DefinitionError] = []
        data = nested(self.values, unread).get(ROOT, {})
        platform = platform_named(str(data.get("platform", "")))
        if not platform.has_shared_codes:
            data.pop("outcomes", None)
        try:
            recruitment = Recruitment.model_validate(data)
        except ValidationError as error:
            for one in problems_of(error):
                self._blame(".".join([ROOT, *map(str, one.path)]), one.text)
            return False
        change_recruitment(study, recruitment, user=user)
        return True

    def _blame(self, name: str, text: str) -> None:
        fields = self.section.fields
        own = [one for one in fields if name.startswith(one.name)]
        (own or fields)[0].error = gettext(text)
