"""Assignment of units to annotators: pure, from ids and a seed."""
