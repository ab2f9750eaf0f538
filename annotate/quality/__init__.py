"""Quality of answers: monitoring, training and exclusions."""
