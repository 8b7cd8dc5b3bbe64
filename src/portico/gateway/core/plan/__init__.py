"""A plan of many calls, as data: what it says, whether it can be carried out, what comes of it."""
