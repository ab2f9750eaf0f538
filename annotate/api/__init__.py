"""The REST API: the same functions as the pages, one view an operation.

Comes in: JSON, with an annotator's link or an account's token.
Goes out: JSON, described by OpenAPI.
"""
