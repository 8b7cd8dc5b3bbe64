"""Somebody says what they want: a plan is put together, shown, and learnt from."""
