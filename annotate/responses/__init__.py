"""Answers: locks, leases, writing, submission, late answers, skips."""
