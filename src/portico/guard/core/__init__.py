"""The guard's nouns: keys, identities, roles, spaces."""
