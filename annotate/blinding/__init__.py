"""Check for anything that would reveal a method to annotators."""
