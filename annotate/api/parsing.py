"""Reading what programs send."""

from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class ShallowJSONParser(JSONParser):
    """Refuses JSON that is nested too deep to be read."""

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().parse(*args, **kwargs)
        except RecursionError as error:
            raise ParseError("JSON parse error - nested too deep") from error


class TableJSONParser(ShallowJSONParser):
    """Reads NaN as the JSON lines of files have it: a missing value."""

    strict = False
