"""Django's SQLite backend: private files, and `writers_line` before each transaction.

Django looks for the class by this module's name and its own.
"""

from pathlib import Path
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base

from evalcore.database.private_file import make_private
from evalcore.database.writers_line import WritersLine


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that waits in line before it writes.

    Transactions begin with the write lock (`transaction_mode` is IMMEDIATE). A single
    statement outside of one waits as SQLite has it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._line: WritersLine | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Open the file, which its owner alone may read."""
        make_private(Path(conn_params["database"]))
        return super().get_new_connection(conn_params)

    def _start_transaction_under_autocommit(self) -> None:
        if self._line is None:
            seconds = self.settings_dict["OPTIONS"]["timeout"]
            self._line = WritersLine(str(self.settings_dict["NAME"]), seconds)
        if not self._line.enter():
            raise OperationalError("database is locked")
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._line.leave()
            raise

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        self._leave()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._leave()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            if self._line is not None:
                self._line.close()

    def _leave(self) -> None:
        if self._line is not None:
            self._line.leave()
