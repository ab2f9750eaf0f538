"""Compile the catalogues of reports while the library alone is built."""

from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from setuptools import setup

for path in Path(__file__).parent.glob("report/locale/*/LC_MESSAGES/*.po"):
    with path.open("rb") as source, path.with_suffix(".mo").open("wb") as compiled:
        write_mo(compiled, read_po(source, locale=path.parts[-3]))

setup()
