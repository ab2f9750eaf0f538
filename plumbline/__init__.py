"""What a script imports of Plumbline: `analysis`, and the client of a server."""
