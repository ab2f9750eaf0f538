"""What a next study needs: variance components, power, subsets, stable judges.

Comes in: a pilot's answers and scores.
Goes out: forecasts by size of the study.
"""
