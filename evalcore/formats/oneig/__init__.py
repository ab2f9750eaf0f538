"""OneIG-Bench's prompts and what lies beside them.

Comes in: CSV and JSON.
Goes out: stories; the same files written back.
"""
