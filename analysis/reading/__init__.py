"""From files to checked matrices; what is wrong is named by file and line.

Comes in: CSV, JSONL, Parquet, or frames.
Goes out: rows that count, cells by story and method, scores.
"""
