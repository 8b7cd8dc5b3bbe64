"""What every room uses to survive: the store's upkeep; durable runs and the event log to come."""
