"""Limits and budgets on their real doors."""

from portico.adapters.postgres.call_limits import PostgresCallLimits
from portico.main.ground import Ground
from portico.main.outside import Outside


def call_limits(ground: Ground, outside: Outside) -> PostgresCallLimits:
    return PostgresCallLimits(outside.transactions, ground.loaded.settings.limits.rates)
