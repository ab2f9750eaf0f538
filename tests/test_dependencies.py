"""Licences of what is pinned go together with ours; what is declared is imported."""

from email.message import Message

import pytest

from tests import audit_dependencies as audit


def said(**fields: str) -> Message:
    message = Message()
    for name, value in fields.items():
        message[name.replace("_", "-")] = value
    return message


def test_all_is_well_with_what_is_pinned():
    assert audit.problems() == []


@pytest.mark.parametrize(
    ("expression", "is_good"),
    [
        ("MIT", True),
        ("MIT AND PSF-2.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("LicenseRef-Proprietary OR BSD-3-Clause", True),
        ("MIT AND GPL-2.0-only", False),
        ("Apache-2.0 AND CNRI-Python", False),
        ("GPL-2.0-only", False),
        ("AGPL-3.0-only", False),
        ("Proprietary", False),
        ("MITigated", False),
        ("", False),
    ],
)
def test_a_licence_goes_with_the_gpl_or_does_not(expression, is_good):
    assert audit.is_compatible(expression) == is_good


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"License_Expression": "SSPL-1.0"}, ["x: SSPL-1.0, of which nobody"]),
        ({"License": "Do what you want"}, ["x: Do what you want, of which nobody"]),
        ({}, ["x: no licence, of which nobody"]),
        ({"License": "MIT\n\nCopyright somebody"}, []),
        ({"Classifier": "License :: OSI Approved :: BSD License"}, []),
    ],
)
def test_a_licence_that_nobody_has_looked_at_is_told(fields, told):
    found = list(audit._licence("x", said(**fields)))
    assert [one[: len(text)] for one, text in zip(found, told, strict=True)] == told


def test_what_is_known_of_a_licence_is_taken_out_once_it_is_good():
    found = list(audit._licence("regex", said(License_Expression="Apache-2.0")))
    assert found == ["regex: Apache-2.0 is compatible; take it out of the list"]
    assert not list(audit._licence("nvidia-x", said(License="NVIDIA Proprietary")))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"Requires_Python": ">=3.10"}, 0),
        ({"Requires_Python": ">=3.12"}, 1),
        ({"Requires_Python": "<3.11"}, 2),
        ({"Classifier": "Development Status :: 7 - Inactive"}, 1),
    ],
)
def test_what_says_that_it_is_too_old_or_too_new_is_told(fields, told):
    found = list(audit._upkeep("x", said(**fields)))
    assert len(found) >= told
    assert bool(found) == bool(told)


def test_what_is_declared_and_unused_or_used_and_undeclared_is_told(monkeypatch):
    without = [one for one in audit.PROJECT["dependencies"] if "jinja2" not in one]
    changed = {**audit.PROJECT, "dependencies": [*without, "vine>=5"]}
    monkeypatch.setattr(audit, "PROJECT", changed)
    found = "\n".join(audit._use())
    assert "imports jinja2, of jinja2, which is not declared" in found
    assert "vine: declared, but not used" in found
    assert "markupsafe" not in found


def test_a_list_of_exceptions_holds_no_more_than_is_needed(monkeypatch):
    monkeypatch.setitem(audit.UNIMPORTED, "numpy", "no reason")
    assert list(audit._use()) == [
        "numpy: declared, but imported; take it out of the list"
    ]


def test_another_version_than_the_pinned_one_is_told(monkeypatch):
    other = audit.Requirement("pytest==1.0")
    gone = audit.Requirement("no-such-thing==1.0")
    monkeypatch.setattr(audit, "pinned", lambda: {"pytest": other, "nothing": gone})
    first, second = audit._versions()
    assert first.startswith("pytest: ==1.0 is pinned, ")
    assert second == "nothing: pinned, but not installed; nothing is known of it"
