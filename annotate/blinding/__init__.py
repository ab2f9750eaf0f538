"""`check_blinding`: looks for whatever would tell an annotator a method's name."""
