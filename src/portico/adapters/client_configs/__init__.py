"""The configuration files of other programs on this machine: found, read and watched."""
