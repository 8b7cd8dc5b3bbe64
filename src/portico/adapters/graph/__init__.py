"""What is computed over the graph of tools, with rustworkx and graspologic-native."""
