"""What the routes of secrets can call."""

from dataclasses import dataclass

from portico.guard.secrets import ListSecrets, SetSecret, UnsetSecret


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretUseCases:
    set_secret: SetSecret
    list_secrets: ListSecrets
    unset_secret: UnsetSecret
