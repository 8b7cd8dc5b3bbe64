"""One package a screen: its routes, what they show as plain data, and its templates beside."""
