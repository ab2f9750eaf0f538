"""What `python -m analysis` and the functions of `analysis` do, one a subcommand.

Comes in: tables and options.
Goes out: every table of a result.
"""
