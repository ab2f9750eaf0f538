"""What is shown of a slot: pictures, videos and texts, in one size, nameless.

Comes in: a slot.
Goes out: what the seat's templates show; reports of what is broken.
"""
