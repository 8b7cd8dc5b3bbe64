"""What a box is asked for, and what it says of itself."""
