"""Backups made while people answer, checked to the last byte, and put back.

Comes in: the database, originals, reports and the signing key of a server; a folder.
Goes out: a backup in that folder, or the same server again, on this machine or another.
"""
