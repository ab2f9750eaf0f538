"""Pages of lists, by limit and offset."""

from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request
from rest_framework.response import Response

LARGEST = 2**53
PAGING = {"limit", "offset"}


class Pages(LimitOffsetPagination):
    """Limit and offset; the reply links the next and the previous page."""

    default_limit = 100
    max_limit = 1000

    def get_limit(self, request: Request) -> int:
        most = self.max_limit
        return _number(request, self.limit_query_param, self.default_limit, 1, most)

    def get_offset(self, request: Request) -> int:
        return _number(request, self.offset_query_param, 0, 0, LARGEST)

    def get_paginated_response(self, data: Any) -> Response:
        response = super().get_paginated_response(data)
        links = {"next": self.get_next_link(), "prev": self.get_previous_link()}
        given = [f'<{url}>; rel="{rel}"' for rel, url in links.items() if url]
        if given:
            response["Link"] = ", ".join(given)
        return response

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of a page: every field is always there."""
        link = {"type": "string", "nullable": True, "format": "uri", "example": None}
        fields = {"count": {"type": "integer"}, "next": link, "previous": link}
        fields["results"] = schema
        return {"type": "object", "required": [*fields], "properties": fields}

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """Return the parameters with their limits."""
        limit = {"type": "integer", "minimum": 1, "maximum": self.max_limit}
        offset = {"type": "integer", "minimum": 0, "maximum": LARGEST}
        return [
            {
                "name": "limit",
                "in": "query",
                "description": f"Rows of a page, {self.default_limit} if not given.",
                "schema": {**limit, "default": self.default_limit},
            },
            {
                "name": "offset",
                "in": "query",
                "description": "Rows before the page.",
                "schema": {**offset, "default": 0},
            },
        ]


def _number(request: Request, name: str, usual: int, least: int, most: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return usual
    is_number = text.isascii() and text.isdecimal() and len(text) < 17
    if not is_number or not least <= int(text) <= most:
        raise ValidationError({name: f"Write a whole number from {least} to {most}."})
    return int(text)
