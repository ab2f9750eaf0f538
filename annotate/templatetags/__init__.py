"""What templates may ask about kinds of questions."""
