"""What a next study needs: variance components, power, subsets, stable judges."""
