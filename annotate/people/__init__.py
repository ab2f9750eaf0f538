"""Annotators: invitations, public links, pseudonyms, presence and completion codes."""
