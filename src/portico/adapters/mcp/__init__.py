"""The servers behind the door: started, spoken to, and ended."""
