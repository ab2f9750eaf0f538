"""Pages of annotators under an invitation link.

Comes in: requests of browsers with a link.
Goes out: stories with their questions, pictures, videos; answers are passed on.
"""
