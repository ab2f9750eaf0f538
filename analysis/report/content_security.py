"""What a browser may run of the page: its own scripts and styles, by hash."""

import base64
import hashlib
import re

# How plotly's source sets the text of a style element.
STYLE_TEXT = re.compile(r"\.textContent='((?:[^'\\]|\\.)*)'")


def content_security_policy(html: str) -> str:
    """Return the strictest policy under which this page works.

    Scripts and styles run only if their text is one of the page's own, by hash. plotly
    adds an empty style element and fills it through the object model, which the hash
    of the empty text admits, and one whose text stands in its source; it also sets
    style attributes on what it draws.
    """
    scripts = [
        _hash(text) for text in re.findall(r"<script>(.*?)</script>", html, re.S)
    ]
    own = re.findall(r"<style>(.*?)</style>", html, re.S)
    styles = [_hash(text) for text in (*own, *STYLE_TEXT.findall(html), "")]
    return "; ".join(
        [
            "default-src 'none'",
            "img-src data: blob:",
            f"script-src {' '.join(scripts)}",
            f"style-src-elem {' '.join(styles)}",
            "style-src-attr 'unsafe-inline'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
