"""What is written down about the running house, and what must never be."""
