"""The learnt graph of tools, kept in memory for whoever may know of it, and looked at."""
