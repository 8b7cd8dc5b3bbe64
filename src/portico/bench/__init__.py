"""Every figure we quote, measurable by anyone: `portico bench`."""
