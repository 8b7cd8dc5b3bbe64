"""What the engine has in common with the rest of the installation."""

from dataclasses import dataclass, field

from portico.adapters.crypto import RingVault
from portico.adapters.dbos.deferred_queue import DeferredQueue
from portico.adapters.mcp.secrets import NOBODY, SecretResolver
from portico.adapters.postgres.transaction import Transactions
from portico.engine.core.runs import Cleaning, as_it_is
from portico.engine.ports import Bus, RunQueue
from portico.guard.ports import Audit, Vault
from portico.kernel.clock import Clock, Entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDependencies:
    transactions: Transactions
    bus: Bus
    audit: Audit
    clock: Clock
    entropy: Entropy
    clean: Cleaning = as_it_is
    hide: Cleaning = as_it_is
    """Only the very secrets that are known, whatever else looks like one."""
    vault: Vault = field(default_factory=lambda: RingVault(None))
    """Closed, unless somebody brings its keys."""
    queue: RunQueue = field(default_factory=DeferredQueue)
    """Where runs are put to be carried out; until somebody brings one, they are found there."""
    keeper: SecretResolver = NOBODY
    """Of the secrets that servers of tools are given."""
