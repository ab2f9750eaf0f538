"""Views by audience: authorise, parse, call one function, render."""
