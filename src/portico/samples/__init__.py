"""Sample servers of tools, for `portico demo`: a made-up bicycle shop, on the standard library."""
