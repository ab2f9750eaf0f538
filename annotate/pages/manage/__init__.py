"""Pages of managers: set up, people, coverage, changes, views, log.

Comes in: requests of accounts.
Goes out: pages, and CSV of what they show.
"""
