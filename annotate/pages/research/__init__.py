"""Pages of researchers: scores, reports, downloads.

Comes in: requests of accounts.
Goes out: pages, tables and reports as files.
"""
