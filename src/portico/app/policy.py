"""The gate, and the rules that it goes by, on their real doors."""

from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.postgres.guard.keys import PostgresKeys
from portico.adapters.postgres.guard.principals import PostgresPrincipals
from portico.adapters.postgres.guard.rules import PostgresRules
from portico.app.assemble_policy import PolicyDoors
from portico.app.ground import Ground
from portico.app.limits import call_limits
from portico.app.outside import Outside


def open_policy(ground: Ground, outside: Outside) -> PolicyDoors:
    """One for a process: it holds the rules of every space that asks."""
    transactions, clock = outside.transactions, outside.clock
    of_the_file = ground.loaded.settings.policy.made
    return PolicyDoors(
        rules=PostgresRules(transactions, outside.bus, clock, of_the_file),
        contexts=PostgresTaskContexts(transactions, clock),
        limits=call_limits(ground, outside),
        journal=outside.audit,
        principals=PostgresPrincipals(transactions),
        keys=PostgresKeys(transactions),
        together=transactions.begin,
        clock=clock,
        entropy=outside.entropy,
    )
