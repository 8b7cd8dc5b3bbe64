"""The console: pages for the people who answer for what agents do."""
