"""Sentences of a report as tests read them: all kinds in one."""

from analysis.report.claims import both, flat


def sentences(tables, permutations, confidence=0.95):
    return flat(both(tables, permutations, confidence).claims)


def limits(tables, permutations, confidence=0.95):
    return flat(both(tables, permutations, confidence).limits)
