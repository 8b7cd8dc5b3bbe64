"""Portico's own tools: a server of the gateway that is a part of Portico."""
