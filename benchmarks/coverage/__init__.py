"""Coverage of intervals and tests, counted in studies whose truth is known."""
