"""Uploads of managers: received in parts, inspected, previewed and imported.

Comes in: a zip, a folder or a table, from the browser or from a folder of the server.
Goes out: calls of the import functions, which store everything or nothing.
"""
