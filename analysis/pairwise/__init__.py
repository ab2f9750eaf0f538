"""Does a metric prefer what people prefer? Pairs of outputs of one story."""
