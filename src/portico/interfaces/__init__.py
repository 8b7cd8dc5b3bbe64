"""Who knocks: decode, call one use case, encode."""
