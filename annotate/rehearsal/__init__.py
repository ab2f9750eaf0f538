"""Simulated people, and rehearsals of a study by them.

In goes a planned study with the numbers of people of each kind; out comes a result for
one page and a report. All answers lie in a database of their own, which is then gone.
"""
