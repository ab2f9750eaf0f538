"""Language models as judges: questions, budget, patience, replies.

Comes in: texts and pictures.
Goes out: answers with their costs, or reasons why there is none.
"""
