"""What agents are made of: nouns and pure functions."""
