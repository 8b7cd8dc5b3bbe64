"""Debates over MCP: `/mcp/debate`."""
