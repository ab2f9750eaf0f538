"""Accuracy of metrics in predicting which of two outputs people prefer."""
