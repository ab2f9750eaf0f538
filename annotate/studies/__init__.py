"""A study as data, as a YAML file, as a plan, and how it changes under way.

Comes in: a study file or a filled form, and a benchmark.
Goes out: a study with units and slots, launched, paused, closed, extended; or an error
that says why not: `DefinitionError` of a file, `PlanningError` of a plan (and the
design's `ImpossibleDesignError` where its numbers contradict each other),
`LifecycleError` and `ChangeError` of a change.
"""
