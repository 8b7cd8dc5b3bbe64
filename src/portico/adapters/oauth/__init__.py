"""OAuth: whose tokens are genuine, and where people log in to servers of others."""
