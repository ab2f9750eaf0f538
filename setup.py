"""Build the server, below `plumbline/server/` so that none of its names is global."""

from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from setuptools import find_namespace_packages, setup

PARTS = ("annotate", "evalcore", "fixtures", "templates", "deploy", "docs._build.html")

for path in Path("annotate/locale").glob("*/LC_MESSAGES/*.po"):
    with path.open("rb") as source, path.with_suffix(".mo").open("wb") as out:
        write_mo(out, read_po(source, locale=path.parts[-3]))

# Every folder counts as a package, so that all files are data of one.
folders = find_namespace_packages(
    include=[name for part in PARTS for name in (part, f"{part}.*")],
    exclude=["*.__pycache__"],
)
setup(
    package_dir={"plumbline.server": "."},
    packages=[f"plumbline.server.{name}" for name in folders],
    package_data={"": ["*"], "plumbline.server.deploy": ["*/*"]},
    exclude_package_data={"": ["*.po", "*.pyc"]},
)
