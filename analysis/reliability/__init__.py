"""People among themselves: alpha, kappa and AC, ICC, each annotator."""
