"""Pages of annotators under an invitation link."""
