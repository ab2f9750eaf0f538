"""The REST API: the same functions as the pages, one view an operation."""
