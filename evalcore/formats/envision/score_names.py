"""Which scores Envision's programs write, and how they derive the others from nine."""

from collections.abc import Mapping

FORM = "envision"
PROFILE = "envision-code"
# Sub-dimensions by dimension; each name is a metric here with "envision_" before it.
PARTS = {
    "consistency": {
        "semantic_consistency": "semantic",
        "factual_consistency": "factual",
        "spatial_temporal_consistency": "spatial_temporal",
    },
    "aesthetic": {
        "expressiveness": "expressiveness",
        "artistic_quality": "artistic_quality",
        "authenticity": "authenticity",
    },
    "physicality": {
        "basic_properties": "basic_properties",
        "dynamics_interactivity": "dynamics",
        "physical_reliability": "physical_reliability",
    },
}
# The programs store this one a second time, and count it twice where they count.
DOUBLED = {"dynamics_and_interactivity": "dynamics_interactivity"}
SINGLE = {key: name for part in PARTS.values() for key, name in part.items()}
DERIVED = {
    "consistency_score": "consistency",
    "aesthetic_score": "aesthetic",
    "physicality_score": "physicality",
    "overall_score": "overall",
}
KEYS = {
    key: f"envision_{name}"
    for group in (SINGLE, DERIVED)
    for key, name in group.items()
}
METRICS = {metric: key for key, metric in KEYS.items()}
GRADES = (
    (4.5, "Excellent"),
    (4.0, "Very Good"),
    (3.5, "Good"),
    (3.0, "Fair"),
    (2.0, "Poor"),
)
LOWEST_GRADE = "Very Poor"
FULL, ROWS, REPORT = "full_results.json", "scores.jsonl", "analysis_report.json"


def grade(score: float) -> str:
    """Return the word for a score.

    >>> grade(4.5), grade(3.99), grade(1)
    ('Excellent', 'Good', 'Very Poor')
    """
    return next((word for least, word in GRADES if score >= least), LOWEST_GRADE)


def pass_rate(scores: Mapping[str, float], least: int) -> float:
    """Return the share of the nine scores that reach a value, to two decimals.

    A score counts once; the programs count dynamics twice.

    >>> pass_rate({"authenticity": 3, "expressiveness": 2, "overall_score": 5}, 3)
    0.5
    """
    single = [value for key, value in scores.items() if key in SINGLE]
    return round(sum(value >= least for value in single) / len(single), 2)
