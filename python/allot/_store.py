"""The store of results (SQLite) as tables."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Union

from ._core import Error

if TYPE_CHECKING:
    import pandas


class Store:
    """A store that `--db FILE` of the command writes (docs/experiments.md). It is only read."""

    def __init__(self, path: Union[str, Path]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise Error(f"{path}: there is no such store")

    def _query(self, sql: str) -> "pandas.DataFrame":
        import pandas

        uri = self.path.resolve().as_uri() + "?mode=ro"
        connection = sqlite3.connect(uri, uri=True)
        try:
            return pandas.read_sql_query(sql, connection)
        except (sqlite3.DatabaseError, pandas.errors.DatabaseError) as e:
            raise Error(f"{self.path}: no store of allot: {e}") from None
        finally:
            connection.close()

    def runs(self) -> "pandas.DataFrame":
        """A row a run: workload, machine, settings that differ, passes, state, host seconds."""
        return self._query("SELECT * FROM runs ORDER BY id")

    def launches(self) -> "pandas.DataFrame":
        """A row a launch: its run's workload, machine, settings, passes, and every counter."""
        return self._query(
            "SELECT r.workload, r.machine, r.settings, r.passes, r.quick, r.seed, l.* "
            "FROM launches l JOIN runs r ON r.id = l.run WHERE r.state = 'done' "
            "ORDER BY l.run, l.number"
        )
