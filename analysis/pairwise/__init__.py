"""Does a metric prefer what people prefer? Pairs of outputs of one story.

Comes in: choices, or ratings as pairs, and scores.
Goes out: accuracies, ties, tests, the human ceiling.
"""
