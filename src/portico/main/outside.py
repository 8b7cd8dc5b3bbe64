"""What the engine room has in common with the rest of the house."""

from dataclasses import dataclass

from portico.adapters.postgres.transaction import Transactions
from portico.engine.core.run import Cleaning, as_it_is
from portico.engine.ports import Bus
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    transactions: Transactions
    bus: Bus
    clock: Clock
    entropy: Entropy
    clean: Cleaning = as_it_is
