"""The use cases of secrets, put on their doors."""

from portico.guard.ports import Audit, Secrets, SecretUses
from portico.guard.secrets import ListSecrets, SetSecret, UnsetSecret
from portico.interfaces.http.use_cases import SecretUseCases
from portico.kernel.clock import Clock


def assemble_secrets(
    secrets: Secrets, uses: SecretUses, audit: Audit, clock: Clock
) -> SecretUseCases:
    return SecretUseCases(
        set_secret=SetSecret(secrets=secrets, uses=uses, journal=audit, clock=clock),
        list_secrets=ListSecrets(secrets=secrets, uses=uses),
        unset_secret=UnsetSecret(secrets=secrets, journal=audit),
    )
