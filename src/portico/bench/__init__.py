"""The benchmarks that users run themselves: `portico bench`."""
