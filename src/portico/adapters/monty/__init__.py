"""Small programs in the Monty interpreter, each in a process of its own."""
