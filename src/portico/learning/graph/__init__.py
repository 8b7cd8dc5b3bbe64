"""The learned graph of tools, kept in memory for each clearance."""
