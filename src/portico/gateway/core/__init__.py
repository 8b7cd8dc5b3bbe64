"""What the gateway is about: servers, their tools, and calls."""
