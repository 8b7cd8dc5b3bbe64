"""The bridge over MCP: sixteen tools, its resources, and word of what is new."""
