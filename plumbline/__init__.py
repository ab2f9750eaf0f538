"""The light package of scripts: the library `analysis`, and the client of a server."""
