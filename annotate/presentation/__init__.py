"""What is shown of a slot: pictures, videos and texts, in one size, nameless."""
