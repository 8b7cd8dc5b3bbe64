"""One folder a technology: the only home of third-party libraries besides the faces."""
