"""The columns of every table that a report may hold, in reading order."""

from analysis.correlation.metric_clusters import CLUSTER_COLUMNS
from analysis.correlation.williams import WILLIAMS_COLUMNS
from analysis.pairwise.disagreement import DISAGREEMENT_COLUMNS
from analysis.pairwise.fitted_weights import CALIBRATION_COLUMNS
from analysis.pairwise.human_ceiling import HUMAN_PAIRS_COLUMNS
from analysis.pairwise.mcnemar import MCNEMAR_COLUMNS
from analysis.pairwise.position_bias import POSITION_BIAS_COLUMNS
from analysis.pairwise.soft_accuracy import SPA_COLUMNS
from analysis.pairwise.tie_calibration import ACCURACY_LEVELS_COLUMNS
from analysis.planning.power import NEEDED_COLUMNS, POWER_COLUMNS
from analysis.planning.stability import JUDGES_COLUMNS, STABILITY_COLUMNS
from analysis.planning.subset import (
    BEST_SUBSET_COLUMNS,
    SUBSET_COLUMNS,
    SUBSET_STORIES_COLUMNS,
)
from analysis.planning.variance_components import RELIABILITY_COLUMNS, VARIANCE_COLUMNS
from analysis.rankings.composites import COMPOSITE_COLUMNS
from analysis.rankings.leaderboard import SIDE_EFFECT_COLUMNS
from analysis.rankings.ranking_leaderboard import RANKING_LEADERBOARD_COLUMNS
from analysis.rankings.rating_rankings import RATING_LEADERBOARD_COLUMNS
from analysis.reading.choices import WIN_RATE_COLUMNS
from analysis.reliability.annotator_statistics import ANNOTATOR_COLUMNS
from analysis.reliability.checklist_labels import LABEL_COLUMNS
from analysis.reliability.distributions import DISTRIBUTION_COLUMNS
from analysis.reliability.internal_consistency import SCALE_CONSISTENCY_COLUMNS
from analysis.strata.differences import STRATA_DIFFERENCE_COLUMNS
from analysis.strata.estimates import STRATA_COLUMNS

COLUMNS = {
    "method_means": (
        "dimension",
        "method",
        "mean",
        "sd_annotators",
        "n_ratings",
        "n_annotators",
        "n_stories",
        "low",
        "high",
    ),
    "agreement": (
        "question",
        "statistic",
        "value",
        "low",
        "high",
        "n_units",
        "n_annotators",
        "n_answers",
        "reason",
    ),
    "correlations": (
        "dimension",
        "metric",
        "level",
        "coefficient",
        "value",
        "low",
        "high",
        "n",
        "n_groups",
        "p_value",
        "reason",
    ),
    "groups": (
        "question",
        "metric",
        "level",
        "n_groups",
        "n_left_out",
        "too_few",
        "people_same",
        "metric_same",
        "reason",
    ),
    "pairwise_accuracy": (
        "question",
        "metric",
        "source",
        "ppa_strict",
        "ppa_strict_low",
        "ppa_strict_high",
        "ppa_half",
        "ppa_half_low",
        "ppa_half_high",
        "metric_tie_rate",
        "n_pairs",
        "acc_eq",
        "epsilon",
        "epsilon_in_sample",
    ),
    "metric_comparisons": (
        "dimension",
        "level",
        "coefficient",
        "metric_a",
        "metric_b",
        "difference",
        "low",
        "high",
        "p_value",
        "p_adjusted",
        "test",
    ),
    "leaderboard": (
        "criterion",
        "method",
        "rating",
        "low",
        "high",
        "rank",
        "rank_low",
        "rank_high",
        "n_comparisons",
    ),
    "win_rates": WIN_RATE_COLUMNS,
    "ranking_leaderboard": RANKING_LEADERBOARD_COLUMNS,
    "clusters": CLUSTER_COLUMNS,
    "williams": WILLIAMS_COLUMNS,
    "spa": SPA_COLUMNS,
    "accuracy_levels": ACCURACY_LEVELS_COLUMNS,
    "mcnemar": MCNEMAR_COLUMNS,
    "human_pairs": HUMAN_PAIRS_COLUMNS,
    "calibration": CALIBRATION_COLUMNS,
    "disagreement": DISAGREEMENT_COLUMNS,
    "strata": STRATA_COLUMNS,
    "strata_differences": STRATA_DIFFERENCE_COLUMNS,
    "rating_leaderboard": RATING_LEADERBOARD_COLUMNS,
    "composites": COMPOSITE_COLUMNS,
    "side_effect": SIDE_EFFECT_COLUMNS,
    "position_bias": POSITION_BIAS_COLUMNS,
    "labels": LABEL_COLUMNS,
    "distributions": DISTRIBUTION_COLUMNS,
    "annotators": ANNOTATOR_COLUMNS,
    "scale_consistency": SCALE_CONSISTENCY_COLUMNS,
    "variance": VARIANCE_COLUMNS,
    "reliability": RELIABILITY_COLUMNS,
    "power": POWER_COLUMNS,
    "needed": NEEDED_COLUMNS,
    "subset": SUBSET_COLUMNS,
    "best_subset": BEST_SUBSET_COLUMNS,
    "subset_stories": SUBSET_STORIES_COLUMNS,
    "stability": STABILITY_COLUMNS,
    "judges": JUDGES_COLUMNS,
}
# Columns that hold whole numbers, or nothing.
WHOLE_OR_EMPTY = (
    "rank",
    "rank_low",
    "rank_high",
    "n_ratings",
    "n_annotators",
    "n_answers",
    "cluster",
    "mean_rank",
    "mean_rank_low",
    "mean_rank_high",
    "standardised_rank",
    "standardised_rank_low",
    "standardised_rank_high",
    "mixed_rank",
)
