"""Settings of the guard: policy, approvals, audit, limits, secrets, and access tokens of other
issuers.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

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

from portico.guard.core.principals import Role
from portico.guard.core.rate_limits import CallRates
from portico.guard.core.rules import Rule, RuleSource, Ruling, flaws_of
from portico.guard.core.secrets import Source, parse_ref
from portico.guard.core.tokens import ACCESS_TOKEN, Grants, Issuer, SubjectRule, grants_of
from portico.kernel.effect import Effect
from portico.kernel.label import InvalidLabel, Label

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
        except InvalidLabel as error:
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
            max_label=Label.parse(self.upto),
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


# What the user decides about requests for approval: how long they wait, and who hears of them.

_APPROVALS_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class ApprovalsSettings(BaseModel):
    """How long somebody is waited for, and how long a request can be answered."""

    model_config = _APPROVALS_MODEL

    wait_seconds: Annotated[int, Strict(), Field(ge=0, le=300)] = 20
    """Seconds that a call which needs approval waits for it; then it is told where to ask again."""
    expires_minutes: Annotated[int, Strict(), Field(ge=1, le=10_080)] = 60
    """Minutes after which a request that nobody has answered is over, and also how long the call
    that was approved may still be made if nobody could make it at once."""
    most_waiting: Annotated[int, Strict(), Field(ge=1, le=100_000)] = 50
    """Requests of one principal that wait at a time; what needs approval beyond is refused."""
    webhook: str | None = None
    """Address that is told of each request, signed and without its arguments:
    https://hooks.example/portico. Not set: nobody is told."""
    webhook_secret: str | None = None
    """Where the secret is that it is signed with: env:NAME, keyring:SERVICE/NAME or file:PATH."""

    @field_validator("webhook")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        """Does not repeat it: what is behind its path may be a key."""
        if value is None:
            return None
        try:
            parts = urlsplit(value)
            usable = parts.hostname and parts.username is None and parts.port != 0
        except ValueError:
            usable = False
        if not usable or parts.scheme not in {"http", "https"} or parts.fragment:
            raise ValueError("must be an address, as in https://hooks.example/portico")
        return value

    @field_validator("webhook_secret")
    @classmethod
    def _is_a_reference(cls, value: str | None) -> str | None:
        """Does not repeat it: it may be the secret itself."""
        ref = None if value is None else parse_ref(value)
        if value is not None and (ref is None or ref.source is Source.SECRET):
            raise ValueError("must say where the secret is, as in env:PORTICO_WEBHOOK_SECRET")
        return value

    @model_validator(mode="after")
    def _is_signed(self) -> Self:
        if self.webhook is not None and self.webhook_secret is None:
            raise PydanticCustomError(
                "unsigned",
                "webhook needs webhook_secret: what is not signed, anybody could send",
                {"setting": "webhook_secret"},
            )
        return self


_AUDIT_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class AuditSettings(BaseModel):
    """The record of what was done and decided, which nobody can change unnoticed."""

    model_config = _AUDIT_MODEL

    heads_every: Annotated[int, Strict(), Field(ge=1, le=1_000_000)] = 1000
    """Entries of a space after which its head is exported: to a file, and with the traces. Without
    a head that is kept elsewhere nobody can tell whether the end of the audit was cut off."""
    heads_file: str | None = None
    """File that the heads are added to; if not set, `audit-heads.ndjson` in the state folder."""


_LIMITS_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

_Calls = Annotated[int, Strict(), Field(ge=1, le=1_000_000)]
_Wildcard = Annotated[str, Field(min_length=1, max_length=200)]
_ServerName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")]


class LimitSettings(BaseModel):
    """How often tools may be called, counted over all processes that share a database."""

    model_config = _LIMITS_MODEL

    calls_a_minute: Annotated[int, Strict(), Field(ge=0, le=1_000_000)] = 1000
    """Calls that one principal may make in any minute; 0 for as many as it likes."""
    tools: Mapping[_Wildcard, _Calls] = Field(default_factory=dict)
    """Calls in any minute of the tools that a wildcard stands for, all of them and all callers
    of a space together, as in `"github.*" = 60`. In a file only, as a table `[limits.tools]`."""
    servers: Mapping[_ServerName, _Calls] = Field(default_factory=dict)
    """The same for all that a server is asked for, resources and prompts too, as in `github = 120`.
    In a file only, as a table `[limits.servers]`."""

    @property
    def rates(self) -> CallRates:
        return CallRates(
            principal=self.calls_a_minute or None, tools=self.tools, servers=self.servers
        )


# What the user decides about secrets: where they are kept, and what seals them elsewhere.

_SECRETS_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class SecretsSettings(BaseModel):
    """Secrets that were given to Portico by name, and the keys of what it seals."""

    model_config = _SECRETS_MODEL

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


_OAUTH_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_SCOPES: Final = {f"portico:{role}": (str(role),) for role in Role}

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]
_Text = Annotated[str, Field(min_length=1, max_length=300)]


class SubjectEntry(BaseModel):
    """Whom a token stands for, by a table of its own: `[[oauth.subjects]]`. The first that fits
    counts; a token that none fits is refused."""

    model_config = _OAUTH_MODEL

    issuer: str | None = None
    """Only tokens of this issuer; has to be said where there are several: each of them says itself
    who its subjects are, and what they are called."""
    subject: _Text | None = None
    """Exactly this `sub`."""
    claim: _Text | None = None
    """A claim to go by, such as `email`, which must then also be verified, or `groups`."""
    like: _Text = "*"
    """What the claim must be like: `*` stands for any characters, `?` for one."""
    principal: _Text | None = None
    """The principal here that it stands for. Either this or `create`."""
    create: Literal["viewer", "member", "operator"] | None = None
    """Make a person with this role when one is first seen, named after the claim or the subject."""
    clearance: str = "public"
    """What a person who is made so is cleared for."""

    @field_validator("clearance")
    @classmethod
    def _is_a_label(cls, value: str) -> str:
        try:
            Label.parse(value)
        except InvalidLabel as error:
            raise ValueError("must be a label, as in team or confidential+finance") from error
        return value

    @model_validator(mode="after")
    def _says_whom(self) -> Self:
        if (self.principal is None) == (self.create is None):
            raise ValueError("must have either a principal or create")
        if self.subject is None and self.claim is None:
            raise ValueError("must have a subject or a claim to go by")
        return self

    @property
    def rule(self) -> SubjectRule:
        return SubjectRule(
            issuer=self.issuer,
            subject=self.subject,
            claim=self.claim,
            like=self.like,
            principal=self.principal,
            create=None if self.create is None else Role(self.create),
            clearance=Label.parse(self.clearance),
        )


class OauthSettings(BaseModel):
    """Access tokens (OAuth 2) that are taken beside Portico's own keys. Off, unless issuers are
    set."""

    model_config = _OAUTH_MODEL

    issuers: tuple[str, ...] = ()
    """Whose tokens are taken, as their `iss` has it, letter by letter: https://login.example"""
    audience: str | None = None
    """What a token must have been made for, and nothing else. Not set: the address of this server
    with /mcp behind it."""
    other_audiences: tuple[str, ...] = ()
    """What a token may have been made for too."""
    algorithms: tuple[Algorithm, ...] = ("RS256", "PS256", "ES256", "EdDSA")
    """How tokens may be signed."""
    token_types: tuple[str, ...] = ("at+jwt",)
    """What the header of a token may say that it is. Some issuers say JWT of all their tokens."""
    keys_url: str | None = None
    """Where the issuer's keys are, if it does not describe itself; for a single issuer."""
    space: str | None = None
    """The id of the space whose principals tokens stand for. Not set: that of this machine's own
    key."""
    scopes: Mapping[str, tuple[str, ...]] = Field(default_factory=lambda: dict(_SCOPES))
    """What each scope of a token brings: roles, or scopes of Portico's own, by `[oauth.scopes]`.
    `*` is every token. A token never brings more than its principal may."""
    subjects: tuple[SubjectEntry, ...] = ()
    """Whom tokens stand for, each rule in a table of its own: `[[oauth.subjects]]`."""

    @field_validator("issuers")
    @classmethod
    def _are_issuers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            parts = urlsplit(each)
            private = parts.scheme == "https" or parts.hostname in _LOOPBACK
            if parts.scheme not in {"http", "https"} or not parts.hostname or not private:
                raise ValueError(f"{each!r} must be an address, as in https://login.example")
            if parts.query or parts.fragment or parts.username is not None:
                raise ValueError(f"{each!r} must have neither a query nor a user")
        return value

    @field_validator("scopes")
    @classmethod
    def _bring_what_there_is(
        cls, value: Mapping[str, tuple[str, ...]]
    ) -> Mapping[str, tuple[str, ...]]:
        try:
            grants_of(value)
        except ValueError as error:
            raise ValueError(f"{error}: must be roles or scopes, as in member") from error
        return value

    @model_validator(mode="after")
    def _has_keys_of_one(self) -> Self:
        if self.keys_url is not None and len(self.issuers) != 1:
            raise ValueError("keys_url is for a single issuer")
        return self

    @model_validator(mode="after")
    def _knows_whose_subjects(self) -> Self:
        named = {entry.issuer for entry in self.subjects}
        if len(self.issuers) > 1 and None in named:
            raise ValueError("each of subjects must have an issuer, as there are several issuers")
        if unknown := sorted(named - {None, *self.issuers}, key=str):
            raise ValueError(f"subjects has {unknown[0]!r}, which is not one of issuers")
        return self

    def trusted(self, audience: str) -> Mapping[str, Issuer]:
        """`issuers`, read; `audience` is this server's own address."""
        return {
            each: Issuer(
                url=each,
                audience=self.audience or audience,
                beside=frozenset(self.other_audiences),
                algorithms=frozenset(self.algorithms),
                types=ACCESS_TOKEN | {kind for kind in self.token_types if kind != "at+jwt"},
                keys_url=self.keys_url,
            )
            for each in self.issuers
        }

    @property
    def rules(self) -> Sequence[SubjectRule]:
        """`subjects`, read."""
        return [entry.rule for entry in self.subjects]

    @property
    def grants(self) -> Grants:
        """`scopes`, read."""
        return grants_of(self.scopes)
