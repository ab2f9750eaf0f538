"""Template tags for kinds of questions, and cached parts of pages."""
