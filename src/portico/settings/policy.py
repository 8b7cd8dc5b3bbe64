"""What the user decides about who may do what, for every space of this installation."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from portico.guard.core.rules import Rule, RuleSource, Ruling, flaws_of
from portico.kernel.effect import Effect
from portico.kernel.label import BadLabel, Label

_MODEL: Final = ConfigDict(
    frozen=True, extra="forbid", use_attribute_docstrings=True, serialize_by_alias=True
)


def _one_is_a_list(value: Any) -> Any:  # noqa: ANN401 # whatever the file says
    return (value,) if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_one_is_a_list)]


class RuleEntry(BaseModel):
    """A rule by a table of its own: `[[policy.rules]]`. Of all rules that are about a call, those
    of the file and those of a space, one that denies counts before one that asks, and one that
    asks before one that allows; the order in which they stand means nothing."""

    model_config = _MODEL

    name: str
    """What it is called in decisions, in the audit and by `portico policy list`."""
    decision: Literal["allow", "ask", "deny"]
    """`ask` has somebody approve each call."""
    tools: Texts
    """Which tools it is about, as SERVER.TOOL; `*` stands for any characters, `?` for one."""
    but: Texts = Field(default=(), alias="except")
    """Which of these it is not about."""
    who: Texts = ()
    """Whom it is about: names with wildcards, `role:member`, `kind:agent`, `key:ID`. Not set:
    everybody."""
    effects: Annotated[tuple[Effect, ...], BeforeValidator(_one_is_a_list)] = ()
    """Which effects it is about, and what is worse too if it denies or asks, and what is milder
    too if it allows. Not set: every effect."""
    reads: Annotated[bool, Strict()] = False
    """`ask` only: ask for calls that only read, too."""
    tainted: Annotated[bool, Strict()] = False
    """`allow` only: also in a task that has read what strangers wrote, or more than the server is
    cleared for."""
    upto: str = "public"
    """With `tainted`: the most that such a task can have read, as in team or
    confidential+finance."""

    @field_validator("upto")
    @classmethod
    def _is_a_label(cls, value: str) -> str:
        try:
            Label.parse(value)
        except BadLabel as error:
            raise ValueError("must be a label, as in team or confidential+finance") from error
        return value

    @property
    def rule(self) -> Rule:
        return Rule(
            name=self.name,
            ruling=Ruling(self.decision),
            tools=self.tools,
            but=self.but,
            who=self.who,
            effects=frozenset(self.effects),
            reads=self.reads,
            tainted=self.tainted,
            upto=Label.parse(self.upto),
            source=RuleSource.FILE,
        )

    @model_validator(mode="after")
    def _says_what_it_means(self) -> Self:
        for flaw in flaws_of(self.rule):
            told = {"setting": flaw.field, "message": flaw.message}
            raise PydanticCustomError("bad_rule", "{message}", told)
        return self


def written(parts: Sequence[str], rules: object) -> tuple[str, str]:
    """Where a flaw is, counted from 1 as people do, and which rule that is, as far as it says."""
    number, *rest = parts
    place = ".".join(["policy.rules", str(int(number) + 1), *rest])
    entry = rules[int(number)] if isinstance(rules, list | tuple) else None
    name = entry.get("name") if isinstance(entry, dict) else None
    return place, f", in the rule {str(name)[:40]!r}" if name else ""


def meant(field: str) -> str:
    """What was meant by a part of a rule that there is not, to be put behind a sentence."""
    known = [info.alias or name for name, info in RuleEntry.model_fields.items()]
    close = get_close_matches(field, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


class PolicySettings(BaseModel):
    """Who may do what. Besides what is set here, reads are allowed, writes are allowed to members,
    and what cannot be undone, or is not known, needs somebody's approval."""

    model_config = _MODEL

    rules: tuple[RuleEntry, ...] = ()
    """Rules that are in force in every space, each in a table of its own: `[[policy.rules]]`.
    Spaces make their own besides: portico policy allow."""

    @field_validator("rules")
    @classmethod
    def _have_different_names(cls, rules: tuple[RuleEntry, ...]) -> tuple[RuleEntry, ...]:
        names = [rule.name for rule in rules]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"must have different names; more than one is called {twice[0]}")
        return rules

    @property
    def made(self) -> Sequence[Rule]:
        """`rules`, read."""
        return [entry.rule for entry in self.rules]
