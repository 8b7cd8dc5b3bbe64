"""What is learned from calls and plans, and what is predicted from it."""
