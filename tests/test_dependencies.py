"""Licences of what is pinned go together with ours; what is declared is imported."""

import pytest

from tests import audit_dependencies as audit


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
