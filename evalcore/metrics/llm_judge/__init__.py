"""Language models as judges: questions, budget, retries, replies.

Comes in: texts and pictures.

Goes out: answers with their costs, or reasons why an answer is missing.
"""
