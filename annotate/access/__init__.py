"""Permissions, and rate limits after wrong guesses."""
