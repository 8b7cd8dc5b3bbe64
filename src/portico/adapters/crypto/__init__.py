"""What is given out and must come back as it was."""
