"""Programs that call tools, carried out as runs: begun, taken up again, looked at."""
