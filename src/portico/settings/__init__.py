"""What the user decides: typed, read once, passed on explicitly, every value with its origin."""
