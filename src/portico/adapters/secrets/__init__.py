"""Where secrets are kept: the system's keyring, or a file that age has encrypted."""
