"""Every use case on its real doors."""

from portico.adapters.postgres.keys import PostgresKeyRing, PostgresKeys
from portico.adapters.postgres.principals import PostgresPrincipals
from portico.adapters.postgres.readiness import Readiness
from portico.adapters.postgres.receipts import PostgresReceipts
from portico.adapters.postgres.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Transactions
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.faces.http.use_cases import UseCases
from portico.main.assemble import Doors, assemble
from portico.main.ground import Ground


def use_cases(ground: Ground, transactions: Transactions) -> UseCases:
    return assemble(
        Doors(
            key_ring=PostgresKeyRing(transactions),
            keys=PostgresKeys(transactions),
            principals=PostgresPrincipals(transactions),
            spaces=PostgresSpaces(transactions),
            receipts=PostgresReceipts(transactions),
            together=transactions.begin,
            clock=SystemClock(),
            entropy=system_entropy,
            pepper=ground.pepper(),
            store_status=Readiness(ground.store, transactions),
            version=ground.version,
            base_url=ground.base_url,
        )
    )
