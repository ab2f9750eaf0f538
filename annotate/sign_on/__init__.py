"""Login by an institution (OpenID Connect), beside passwords.

Comes in: the provider's claims about a person, and their groups there.
Goes out: the account that belongs to them, with the rights of those groups.
"""
