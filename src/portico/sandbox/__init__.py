"""Where strangers' code runs, and reaches nothing that it was not given."""
