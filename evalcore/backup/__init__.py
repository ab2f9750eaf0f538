"""Backup and restore of a server.

Comes in: the database, originals, reports and the signing key of a server; a folder.
Goes out: a backup in that folder, or the restored server on this or another machine.
"""
