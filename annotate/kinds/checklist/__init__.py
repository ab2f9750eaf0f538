"""Labels with two boxes for every shot: in the text, in the picture or video.

Comes in: the ticks of a shot, and the word that it was looked at.
Goes out: ratings of 0 or 1 with the number of their shot.
"""
