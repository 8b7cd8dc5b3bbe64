"""What other programs' configuration files say about servers, understood and never written."""
