"""What other programs' configuration files say about servers, understood and not written here."""
