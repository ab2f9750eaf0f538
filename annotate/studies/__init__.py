"""Studies: definition, study file, plan, and changes while they run.

Comes in: a study file or a filled form, and a benchmark.
Goes out: a study with units and slots, launched, paused, closed or extended; or an
error: `DefinitionError` of a file, `PlanningError` of a plan (the design's
`ImpossibleDesignError` if its numbers contradict each other), `LifecycleError` and
`ChangeError` of a change.
"""
