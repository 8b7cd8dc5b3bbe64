"""MCP servers behind one endpoint: their catalog, search, and calls of their tools."""
