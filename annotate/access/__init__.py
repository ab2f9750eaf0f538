"""Who may see or change what, and who has to wait after wrong guesses."""
