"""How far a study is, when it will be complete, and what needs attention.

Comes in: slots, events, and the snapshots that a worker keeps.
Goes out: counts, heat map, forecast, alerts, and the dashboard made of them.
"""
