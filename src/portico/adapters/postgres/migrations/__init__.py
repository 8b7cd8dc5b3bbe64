"""The schema's history, forward only; never edit a file that has been released."""
