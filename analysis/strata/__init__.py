"""Does it hold everywhere? The same statistics by tags of stories.

Comes in: a question and tags of its stories.
Goes out: rows by stratum, and differences between strata.
"""
