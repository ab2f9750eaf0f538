"""Why an item, or a whole run, gets no value."""


class FeatureError(ValueError):
    """An item has no feature: it cannot be read, or a judge gave no usable answer."""


class FatalError(Exception):
    """Nothing can be computed any more: wrong weights, or the budget is spent."""
