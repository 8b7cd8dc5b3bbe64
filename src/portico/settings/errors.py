"""What is wrong with a configuration, with the place and the mend.

PorticoError
├── InvalidSettings
└── UnreadableSettings
"""

from collections.abc import Sequence

from portico.kernel.errors import Flaw, Kind, PorticoError


class InvalidSettings(PorticoError):
    kind = Kind.INVALID
    code = "invalid_settings"
    title = "The configuration is invalid"
    fix = "Mend the lines named above, then check: portico config validate"

    def __init__(self, flaws: Sequence[Flaw], *, fix: str | None = None) -> None:
        super().__init__("; ".join(f"{flaw.field}: {flaw.message}" for flaw in flaws), fix=fix)
        self.flaws = tuple(flaws)


class UnreadableSettings(PorticoError):
    kind = Kind.INVALID
    code = "unreadable_settings"
    title = "The configuration file cannot be read"
