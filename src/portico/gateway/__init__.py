"""One door in front of many MCP servers: catalogue, search, call, workflows, learning (to come)."""
