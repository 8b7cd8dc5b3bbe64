"""Limits and budgets on their real doors."""

from portico.adapters.postgres.guard.rules import PostgresCallLimits
from portico.app.ground import Ground
from portico.app.outside import Outside


def call_limits(ground: Ground, outside: Outside) -> PostgresCallLimits:
    return PostgresCallLimits(outside.transactions, ground.loaded.settings.limits.rates)
