"""Every figure that the docs quote, measurable by anyone with this repository."""
