"""Boxes of Linux: namespaces where there are any, Landlock, seccomp and limits."""
