"""What runs on the far side: started by a bare interpreter, so the standard library alone."""
