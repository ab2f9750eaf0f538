"""Plans for a number of annotators in one group."""

from annotate.assignment.designs import balanced


def plan(units, *, annotators=0, redundancy=0, groups=(), **how):
    groups = groups or [balanced.LanguageGroup("", annotators, redundancy)]
    return balanced.plan(units, groups=groups, **how)
