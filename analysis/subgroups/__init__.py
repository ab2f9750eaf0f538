"""Does it hold everywhere? The same statistics by tags of stories."""
