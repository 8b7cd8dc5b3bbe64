"""The way out: every connection to an address that we were given passes one gate."""
