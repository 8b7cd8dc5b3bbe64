"""What is written down of an act, for whoever has to answer for it later."""

from dataclasses import dataclass, field

from portico.kernel.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    action: str
    """Dotted, as `call.allowed`, `approval.answered`, `key.issued`."""
    subject: str
    """What it was done to: a tool, a server, a key, a principal."""
    rule: str | None = None
    reason: str | None = None
    facts: JsonObject = field(default_factory=dict)
    """No value of an argument and no secret: names, ids and hashes."""
