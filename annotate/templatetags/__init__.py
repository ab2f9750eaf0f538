"""Template tags for kinds of questions, and parts of pages made once."""
