"""Messages to other programs about a study's events, signed and sent again."""
