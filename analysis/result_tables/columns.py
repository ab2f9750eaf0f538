"""The columns of every table that a report may hold, in reading order."""

# What an estimate takes in most tables.
ESTIMATE = "value low high n reason"

# What is known of a pair of methods by side-by-side answers.
WINS = (
    "method_a method_b wins_a ties wins_b majority_wins_a majority_ties "
    "majority_wins_b n_stories rate_a low high p_value p_adjusted n_effective "
    "majority_rate_a majority_low majority_high drawn weighted"
)

_COLUMNS = {
    "hypotheses": "question metric",
    "verdicts": "question metric role source level statistic value low high n n_groups "
    "chance demanded ceiling like_ceiling n_family p_value p_adjusted decided_by "
    "verdict reason cluster n_better n_worse leads twins n_twins n_twins_missed "
    "twins_verdict",
    "method_verdicts": "question source part method statistic value low high n "
    "n_methods n_better n_pairs n_apart p_adjusted drawn verdict reason",
    "top_methods": "question source part size methods n_methods p_value level "
    "n_inside n_inside_apart drawn verdict",
    "sanity": "metric twin value low high n n_stories n_missed n_alike n_unknown "
    "verdict",
    "method_means": "dimension method mean sd_annotators n_ratings n_annotators "
    "n_stories low high drawn",
    "agreement": "question statistic value low high n_units n_annotators n_answers "
    "reason",
    "correlations": "dimension metric level coefficient value low high n n_groups "
    "p_value drawn reason",
    "groups": "question metric level n_groups n_left_out too_few people_same "
    "metric_same reason",
    "pairwise_accuracy": "question metric source ppa_strict ppa_strict_low "
    "ppa_strict_high ppa_half ppa_half_low ppa_half_high metric_tie_rate n_pairs "
    "n_all_pairs acc_eq epsilon epsilon_in_sample acc_eq_low acc_eq_high p_half "
    "p_acc_eq chance_acc_eq drawn reason",
    "metric_comparisons": "dimension level coefficient metric_a metric_b difference "
    "low high p_value p_adjusted test n_groups reason",
    "accuracy_comparisons": "question source statistic metric_a metric_b difference "
    "low high n p_value p_adjusted test reason",
    "leaderboard": "criterion method rating low high rank rank_low rank_high "
    "n_comparisons drawn part reason",
    "method_comparisons": "question source part method_a method_b difference low high "
    "p_value p_adjusted drawn",
    "win_rates": f"criterion {WINS}",
    "method_win_rates": "criterion method rate low high p_value p_adjusted "
    "n_effective n_opponents n_votes drawn weighted",
    "story_wins": "question method_a method_b wins_a ties wins_b n_stories",
    "ranking_leaderboard": "criterion method rating low high rank rank_low "
    "rank_high log_worth n_rankings n_stories drawn part reason",
    "clusters": f"question metric {ESTIMATE} level coefficient cluster "
    "not_worse_than_best",
    "williams": "question metric_a metric_b level r_a r_b r_ab n value p_value "
    "p_adjusted reason",
    "spa": f"question metric {ESTIMATE} n_stories",
    "accuracy_levels": f"question metric {ESTIMATE} level epsilon epsilon_in_sample "
    "ppa_strict ppa_half metric_tie_rate n_pairs",
    "mcnemar": "question metric_a metric_b source only_a only_b n difference low "
    "high p_value p_stories p_adjusted reason",
    "human_pairs": f"question metric {ESTIMATE} source ppa_strict ppa_strict_low "
    "ppa_strict_high tie_rate acc_eq difference difference_low difference_high "
    "p_value n_annotators drawn",
    "calibration": f"question metric {ESTIMATE} statistic source against",
    "disagreement": "question metric value n kind source story method other_method "
    "human human_other score score_other",
    "strata": f"question metric {ESTIMATE} tag stratum method statistic level "
    "n_groups p_value left_out drawn",
    "strata_win_rates": f"criterion tag stratum {WINS}",
    "strata_differences": f"question metric {ESTIMATE} tag stratum_a stratum_b "
    "method statistic level p_value p_adjusted drawn",
    "rating_leaderboard": "question method mean mean_low mean_high mean_rank "
    "mean_rank_low mean_rank_high standardised standardised_low standardised_high "
    "standardised_rank standardised_rank_low standardised_rank_high mixed mixed_low "
    "mixed_high mixed_rank n_ratings drawn reason",
    "composites": "composite over method value low high rank rank_low rank_high "
    "n_parts n_rounds sd_rounds reason",
    "side_effect": f"question {ESTIMATE} elo p_value",
    "position_bias": f"question {ESTIMATE} left_wins right_wins ties p_value "
    "adjusted adjusted_low adjusted_high n_adjusted",
    "annotator_sides": "question annotator value low high n p_value p_adjusted",
    "labels": "label method n in_text in_video in_both recall recall_low "
    "recall_high precision precision_low precision_high reason",
    "distributions": "question method rating n share",
    "annotators": f"question annotator statistic {ESTIMATE} others p_value verdict",
    "without_marked": "question left_out statistic method value value_all n_answers "
    "reason",
    "annotator_pairs": f"question annotator_a annotator_b statistic {ESTIMATE}",
    "scale_consistency": "level statistic question value low high n n_items reason",
    "variance": "question component value share low high n reason",
    "reliability": f"question statistic {ESTIMATE} n_annotators n_stories",
    "power": f"question metric {ESTIMATE} statistic level grows n_annotators "
    "n_stories n_methods half_width",
    "needed": "question metric statistic level grows target value reason",
    "subset": f"question metric {ESTIMATE} subset statistic",
    "best_subset": f"question metric {ESTIMATE} size statistic source",
    "subset_stories": "size place story chosen",
    "stability": f"question metric {ESTIMATE} method statistic",
    "judges": f"question metric_a metric_b coefficient level {ESTIMATE} n_groups "
    "left_out",
}
COLUMNS = {name: tuple(columns.split()) for name, columns in _COLUMNS.items()}
# Columns that say something in words.
TOLD = frozenset({"reason", "left_out"})
# Columns that hold whole numbers, or nothing.
WHOLE_OR_EMPTY = (
    "rank",
    "rank_low",
    "rank_high",
    "n_ratings",
    "n_annotators",
    "n_answers",
    "n_rounds",
    "cluster",
    "n_better",
    "n_worse",
    "n_twins",
    "n_twins_missed",
    "mean_rank",
    "mean_rank_low",
    "mean_rank_high",
    "standardised_rank",
    "standardised_rank_low",
    "standardised_rank_high",
    "mixed_rank",
)
