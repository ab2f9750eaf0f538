"""Plumbline beside other tools for annotation, each serving the same job.

`python -m benchmarks.peers` installs them, serves one after the other and judges as
fast as each lets a crowd; `docs/peers.md` says how, and what came out.
"""
