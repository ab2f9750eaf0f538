"""Rankings of methods: Bradley-Terry, Plackett-Luce, means, composites."""
