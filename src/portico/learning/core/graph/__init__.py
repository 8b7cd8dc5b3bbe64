"""The learned graph of tools: who comes after whom, how surely, and by which way."""
