"""Build the library: `analysis`, `plumbline` and the catalogues of reports."""

from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from setuptools import find_packages, setup

for path in Path("report/locale").glob("*/LC_MESSAGES/*.po"):
    with path.open("rb") as source, path.with_suffix(".mo").open("wb") as out:
        write_mo(out, read_po(source, locale=path.parts[-3]))

setup(
    script_name="setup.py",  # leaves this module out
    package_dir={"analysis": ".", "plumbline": "../plumbline"},
    packages=[
        "analysis",
        *(f"analysis.{name}" for name in find_packages()),
        *find_packages("..", include=["plumbline", "plumbline.*"]),
    ],
)
