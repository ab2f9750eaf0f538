"""What templates may ask about kinds of questions, and parts of pages made once."""
