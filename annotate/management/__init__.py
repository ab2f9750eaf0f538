"""Commands on studies."""
