"""Parts of a page that are the same for everybody who sees them, made once."""

import secrets
from collections import OrderedDict
from collections.abc import Sequence
from copy import copy
from hashlib import blake2b
from itertools import count
from threading import Lock

from django import template
from django.template import Context, Node, NodeList
from django.template.base import FilterExpression, Parser, Token
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

register = template.Library()

# They stand for a link's token and a slot's code, and occur in no text by chance.
TOKEN, CODE = (str(10**17 + secrets.randbelow(9 * 10**17)) for _which in range(2))
MOST_CHARACTERS = 16_000_000


class KeptParts:
    """Parts by what they show; those that were not asked for the longest make room."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._parts: OrderedDict[bytes, str] = OrderedDict()
        self._lock = Lock()

    def get(self, key: bytes) -> str | None:
        with self._lock:
            if key in self._parts:
                self._parts.move_to_end(key)
            return self._parts.get(key)

    def keep(self, key: bytes, part: str) -> None:
        """Keep a part for the next one who sees it."""
        with self._lock:
            self._size += len(part) - len(self._parts.pop(key, ""))
            self._parts[key] = part
            while self._size > self._most:
                _key, oldest = self._parts.popitem(last=False)
                self._size -= len(oldest)


NUMBERS = count()
PARTS = KeptParts(MOST_CHARACTERS)


class KeptNode(Node):
    """What stands between `kept` and `endkept`."""

    def __init__(self, values: Sequence[FilterExpression], inside: NodeList) -> None:
        self.values, self.nodelist = values, inside
        self.number = next(NUMBERS)

    def render(self, context: Context) -> SafeString:
        shown = [value.resolve(context) for value in self.values]
        told = repr((self.number, get_language(), context["seat"], shown))
        key = blake2b(told.encode(), digest_size=16).digest()
        part = PARTS.get(key)
        if part is None:
            part = self._made(context)
            PARTS.keep(key, part)
        own = part.replace(TOKEN, context["token"]).replace(CODE, context["slot"].code)
        return mark_safe(own)

    def _made(self, context: Context) -> str:
        slot = copy(context["slot"])
        slot.code = CODE
        with context.push(token=TOKEN, slot=slot):
            return self.nodelist.render(context)


@register.tag
def kept(parser: Parser, token: Token) -> KeptNode:
    """Keep what stands inside, by the values that are named."""
    _name, *values = token.split_contents()
    inside = parser.parse(("endkept",))
    parser.delete_first_token()
    return KeptNode([parser.compile_filter(value) for value in values], inside)
