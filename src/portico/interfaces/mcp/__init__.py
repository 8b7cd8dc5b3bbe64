"""The face that models meet: one MCP server in front of all the others."""
