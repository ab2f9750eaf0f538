"""The Django side of `analysis`: the database as tables, reports in the background."""
