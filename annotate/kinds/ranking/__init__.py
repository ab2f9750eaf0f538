"""Three to five outputs of one story in order, the best first.

Comes in: the places on the screen, the best first: `2>1>3`.
Goes out: rankings, as letters of the unit's outputs; in tables a row for each output.
"""
