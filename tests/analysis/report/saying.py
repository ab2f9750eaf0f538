"""Sentences of a report as tests read them: all kinds in one."""

from analysis.report.claims import both, flat


def sentences(tables, confidence=0.95):
    return flat(both(tables, confidence).claims)


def limits(tables, confidence=0.95):
    return flat(both(tables, confidence).limits)
