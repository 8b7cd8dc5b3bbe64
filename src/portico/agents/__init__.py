"""Build and run agents: models, the loop, traces, budgets (to come)."""
