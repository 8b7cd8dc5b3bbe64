"""In-memory doors, shipped, so that what is built on Portico can be tested without it."""
