"""The tables of a result: their columns, and the rows that fill them.

Comes in: one question at a time, laid out for every analysis.
Goes out: rows by table.
"""
