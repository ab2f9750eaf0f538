"""What every room asks of the database, and what is particular to either engine.

Comes in: queries and rows of the rooms above.
Goes out: the same rows, sooner; writers who wait in line.
"""
