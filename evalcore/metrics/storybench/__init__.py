"""StoryBench: FID, FVD, SIM, VTM, PQA.

Comes in: videos as frames.
Goes out: values.
"""
