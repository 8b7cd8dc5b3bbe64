"""Words every room shares: pure values, no I/O, no frameworks."""
