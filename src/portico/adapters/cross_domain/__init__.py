"""Where one floor of the house meets another: what one can do, behind a port of the other."""
