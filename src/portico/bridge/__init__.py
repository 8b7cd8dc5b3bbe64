"""A shared workspace for agents and people: projects, memory, conversations, labels."""
