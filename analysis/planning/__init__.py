"""Planning of the next study: variance components, power, subsets, stable judges."""
