"""Files read into checked matrices; problems name file and line."""
