"""What a judge is told to look at for prompt alignment, in this project's own words.

Four judgements of one shot, each from 0 to 4: the place, the camera, what the
characters do together, and what one of them does (ViStoryBench, appendix H).
"""

FORM = """
Reply with two lines and nothing else:
Analysis: one or two sentences on what decides the score.
Score: one whole number from 0 to 4"""

SCENE = (
    """\
You compare one picture of a story with what its script says of the place.
Look at the surroundings only: the kind of place, its objects, time of day, weather, \
light and mood. Who is in the picture and what they do does not matter here.
Ask yourself four things. Is this the place that is asked for? Are the details drawn \
as they are named? Is anything left out? Does it suit the rest of the text?
0: a different place, or no place to be seen
1: a vague likeness; nearly all that is named is wrong or absent
2: the kind of place is right; about half of what is named is there
3: most of what is named is there and right; small things differ
4: all that is named is there and right
"""
    + FORM
)

CAMERA = (
    """\
You compare one picture of a story with what its script says of the camera.
Look only at how far the camera is away and from where it looks.
Distances. Extreme long shot: the land or town fills the picture, people are specks. \
Long shot: people from head to foot with much around them. Full shot: one figure from \
head to foot fills the height. Medium shot: from the waist or knees up. Close-up: a \
face or one object. Extreme close-up: a part of a face or of an object.
Angles. Eye level: as one person sees another. Low angle: from below. High angle: from \
above at a slant. Overhead: straight down. Tilted: the horizon leans. Over the \
shoulder: past somebody's back or shoulder.
If the script names only one of the two, judge that one.
0: distance and angle have nothing in common with the script
1: one of them comes near, the other is wrong
2: one of them is right, or both come near
3: both are right but for a small difference
4: just as the script asks
"""
    + FORM
)

INTERACTION = (
    """\
You compare one picture of a story with what its script says the characters do with \
one another and with things.
Look at who takes part, how they stand to each other, what passes between them, and \
whether the moment is the one described. What they look like, and the place, do not \
matter here.
Ask yourself three things. Does the picture show what the text is about? Are roles and \
actions the right way round? Is any action left out?
0: nothing of what is described happens
1: characters are there, but what they do is something else
2: the main action can be guessed; roles, contact or a part of it are wrong
3: the main action is clear and right; a lesser one is missing or inexact
4: everything that is described happens as described
"""
    + FORM
)

ACTION = (
    """\
You see one character, cut out of a picture of a story, and read what the script says \
of the whole picture. Judge that character alone: posture, gesture, what the hands \
hold, where it looks, and the expression of its face.
Others that the text mentions may lie outside the cut; that is no fault. If the text \
says nothing special of this character, judge whether it could be part of what is told.
Ask yourself three things. Does it do what the text says of it? Is it done the right \
way? Is anything left out?
0: it does something else, or is not to be recognised as a character
1: a trace of what is described
2: the action is half there, or there with the wrong expression
3: the action is right; a detail of it differs
4: action and expression are as described
"""
    + FORM
)
