"""The three tables that join data collection and statistics.

Ratings, choices and scores are tidy: one row an answer or a value. This module
knows their columns and checks them; it imports nothing of Django.
"""

RATING_KEYS = ("story", "method", "dimension", "annotator")
RATING_COLUMNS = (*RATING_KEYS, "rating")
RATING_OPTIONAL = (
    "shot", "round", "session", "slot", "started_at", "submitted_at", "seconds",
    "is_gold", "is_repeat", "excluded", "comment",
)  # fmt: skip

CHOICE_COLUMNS = ("story", "method_a", "method_b", "criterion", "annotator", "choice")
CHOICE_OPTIONAL = (
    "left_method", "round", "session", "slot", "started_at", "submitted_at", "seconds",
    "is_gold", "is_repeat", "excluded", "comment",
)  # fmt: skip
CHOICE_VALUES = ("a", "b", "tie", "both_bad")

SCORE_COLUMNS = ("story", "method", "metric", "score")
SCORE_OPTIONAL = ("shot", "higher_is_better", "metric_version", "backend")
