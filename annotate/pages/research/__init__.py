"""Pages of researchers: scores, outputs, reports, downloads.

Comes in: requests of accounts.
Goes out: pages, tables and reports as files.
"""
