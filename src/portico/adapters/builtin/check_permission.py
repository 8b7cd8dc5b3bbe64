"""`check_permission`: may I do this? Nothing is done, and nobody is asked."""

from typing import ClassVar, Final, Protocol

from portico.adapters.builtin import given
from portico.adapters.builtin.answers import told
from portico.adapters.builtin.tool import AboutTheHouse, Errand, Offered, hints, schema
from portico.gateway.core.calls import Answer
from portico.gateway.policy_targets import Weighed
from portico.guard.core.access_request import Allowed, Decision, Denied, NeedsApproval
from portico.kernel.effect import Effect
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

_WORDS: Final[dict[type[Decision], str]] = {
    Allowed: "allowed",
    NeedsApproval: "needs_approval",
    Denied: "denied",
}
_SENTENCES: Final[dict[str, str]] = {
    "allowed": "You may call {tool}",
    "needs_approval": "A person has to approve {tool} first",
    "denied": "You may not call {tool}",
}


class Weigh(Protocol):
    async def __call__(
        self, caller: Principal, tool: str, arguments: JsonObject | None = None, /
    ) -> Weighed: ...


CHECK_PERMISSION: Final = Offered(
    {
        "name": "check_permission",
        "title": "Check a permission",
        "description": (
            "Whether you may call a tool now, must wait for a person's approval, or may not; by "
            "which rule, and whether the arguments fit. Nothing is called and nobody is asked."
        ),
        "inputSchema": schema(
            {
                "tool": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 300,
                    "description": "As it is called, such as `files.read`.",
                },
                "arguments": {
                    "type": "object",
                    "description": "What it would be called with, to be checked too.",
                },
            },
            required=["tool"],
        ),
        "outputSchema": schema(
            {
                "tool": {"type": "string"},
                "decision": {"enum": ["allowed", "needs_approval", "denied"]},
                "rule": {"type": "string", "description": "What decides."},
                "reason": {"type": "string"},
                "effect": {"type": "string"},
                "flaws": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "What is wrong with the arguments.",
                },
            },
            required=["tool", "decision", "rule", "reason", "effect", "flaws"],
        ),
        "annotations": hints(reads=True, again=True),
    },
    Effect.LOCAL_READ,
)


class CheckPermission(AboutTheHouse[Weigh]):
    offered: ClassVar[Offered] = CHECK_PERMISSION

    async def __call__(self, arguments: JsonObject, errand: Errand) -> Answer:
        tool, wanted = given.text(arguments, "tool"), arguments.get("arguments")
        weighed = await self.door(errand.asker, tool, wanted if isinstance(wanted, dict) else None)
        decision = weighed.decision
        word = _WORDS[type(decision)]
        sentence = _SENTENCES[word].format(tool=tool)
        lines = [
            f"{sentence}: {decision.reason} ({decision.rule}).",
            *(f"The arguments do not fit: {flaw}" for flaw in weighed.flaws),
        ]
        facts: JsonObject = {
            "tool": tool,
            "decision": word,
            "rule": decision.rule,
            "reason": decision.reason,
            "effect": str(weighed.aim.effect),
            "flaws": [*weighed.flaws],
        }
        return told("\n".join(lines), facts)
