"""All sentences of a report, for tests."""

from analysis.report.sections import findings


def sentences(tables, confidence=0.95):
    return findings(tables, confidence).shown


def limits(tables, confidence=0.95):
    return findings(tables, confidence).not_shown
