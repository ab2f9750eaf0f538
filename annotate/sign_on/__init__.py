"""Login by an institution (OpenID Connect), beside passwords.

Comes in: what the institution's provider says of a person, and their groups there.
Goes out: the account that belongs to them, with the rights of those groups.
"""
