"""From files to checked matrices; what is wrong is named by file and line."""
