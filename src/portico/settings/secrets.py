"""What the user decides about secrets: where they are kept, and what seals them elsewhere."""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, field_validator

from portico.guard.core.secrets import Source, parse_ref

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class SecretsSettings(BaseModel):
    """Secrets that were given to Portico by name, and the keys of what it seals."""

    model_config = _MODEL

    store: Literal["auto", "keyring", "age"] = "auto"
    """Where secrets are kept that `portico secrets set` takes. `keyring`: that of the system, by
    `portico[keyring]`. `age`: an encrypted file in the data folder, with its key beside it in a
    file that only you can read. `auto`: the keyring if it works, else the file."""
    keys: str | None = None
    """Where the keys are that seal what the database holds, such as logins to other servers, as
    `env:NAME` or `file:PATH`: the same on every machine of a fleet. 64 hexadecimal digits each,
    parted by commas; the first one seals. Not set: made by `init`, and kept with the secrets."""

    @field_validator("keys")
    @classmethod
    def _is_a_reference(cls, value: str | None) -> str | None:
        """Does not repeat it: it may be the keys themselves."""
        ref = None if value is None else parse_ref(value)
        if value is not None and (ref is None or ref.source is Source.SECRET):
            raise ValueError("must say where the keys are, as in file:/etc/portico/vault.keys")
        return value
