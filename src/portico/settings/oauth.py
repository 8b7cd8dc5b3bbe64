"""What the user decides about access tokens of others: whose are taken, and for whom."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from portico.guard.core.principals import Role
from portico.guard.core.tokens import ACCESS_TOKEN, Grants, Issuer, SubjectRule, grants_of
from portico.kernel.label import BadLabel, Label

_MODEL: Final = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_SCOPES: Final = {f"portico:{role}": (str(role),) for role in Role}

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]
_Text = Annotated[str, Field(min_length=1, max_length=300)]


class SubjectEntry(BaseModel):
    """Whom a token stands for, by a table of its own: `[[oauth.subjects]]`. The first that fits
    counts; a token that none fits is refused."""

    model_config = _MODEL

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
        except BadLabel as error:
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

    model_config = _MODEL

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
