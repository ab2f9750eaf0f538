"""The command `plumbline`: analyses of tables, and all that a server does."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# A wheel has the server's packages in a folder of their own, a clone beside this one.
SERVER = HERE / "server" if (HERE / "server").is_dir() else HERE.parent


def main() -> int:
    """Run the command of the arguments and return its exit status."""
    # `python -m` puts the working directory first, and somebody's analysis.py with it.
    if not sys.flags.safe_path and sys.path[0] == os.getcwd():
        del sys.path[0]
    has_server = (SERVER / "evalcore").is_dir()
    if has_server:
        sys.path.insert(0, str(SERVER))
        # Of the processes that a server starts.
        inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [str(SERVER), *filter(None, inherited)]
        )
        os.environ["PYTHONSAFEPATH"] = "1"
    try:
        from plumbline import analysis  # noqa: F401
    except ImportError as error:
        sys.exit(f"plumbline: {error}")
    from analysis.__main__ import main as analyse
    from analysis.options import DOES, release

    arguments = sys.argv[1:]
    command = arguments[0] if arguments else "help"
    # A server has a command of this name, too, which takes no files.
    has_files = any(not one.startswith("-") for one in arguments[1:2])
    is_of_tables = command == "doctor" and (has_files or not has_server)
    if command in DOES or is_of_tables:
        return analyse(arguments)
    if command in ("version", "--version"):
        print(release())
        return 0
    if has_server:
        from evalcore.management.command_line import run

        return run(arguments)
    if command in ("help", "-h", "--help"):
        return analyse(["--help"])
    sys.exit(
        f"plumbline: {command} is no analysis ({', '.join(DOES)}). All other commands "
        "need the server: install its wheel, plumbline, beside plumbline-analysis."
    )


if __name__ == "__main__":
    sys.exit(main())
