"""Build the library alone: with the catalogues of reports, without this script."""

from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from setuptools import setup
from setuptools.command.build_py import build_py


class BuildLibrary(build_py):
    """Compile the catalogues beside their sources, and leave out this module."""

    def run(self) -> None:
        """Compile every catalogue, then copy what the library has."""
        for path in Path("report/locale").glob("*/LC_MESSAGES/*.po"):
            with path.open("rb") as source, path.with_suffix(".mo").open("wb") as out:
                write_mo(out, read_po(source, locale=path.parts[-3]))
        super().run()

    def find_package_modules(
        self, package: str, package_dir: str
    ) -> list[tuple[str, str, str]]:
        """Return the modules of a package but this one."""
        found = super().find_package_modules(package, package_dir)
        return [one for one in found if one[:2] != ("analysis", "setup")]


if __name__ == "__main__":
    setup(cmdclass={"build_py": BuildLibrary})
