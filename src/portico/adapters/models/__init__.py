"""Models behind their servers: vendors by pydantic-ai's model layer, Ollama by its own protocol."""
