"""Correlation of metrics with people at three levels, with intervals and tests."""
