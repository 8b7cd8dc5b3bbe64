"""The REST interface and the guard in front of it."""
