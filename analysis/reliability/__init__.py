"""Agreement among annotators: alpha, kappa and AC, ICC, each annotator."""
