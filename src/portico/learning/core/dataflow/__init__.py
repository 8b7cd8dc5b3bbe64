"""Which output of an earlier step could be which argument of a later one, and how surely."""
