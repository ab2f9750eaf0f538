"""Rankings of methods: Bradley-Terry, means, a mixed model, composites."""
