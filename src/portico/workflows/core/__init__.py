"""Plans and programs as data: what they say, how they are checked, and how far they have come."""
