"""The machine itself: its clock, its randomness, its files."""
