"""What the user decides about tokens of others."""

import pytest

from portico.guard.core.principals import NEVER_OF_PROGRAMS, SCOPES_OF, Role, Scope
from portico.guard.core.tokens import Issuer, SubjectRule
from portico.kernel.label import Label, Level
from portico.settings.load import InvalidSettings
from tests.settings.conftest import Read

WHOLE = """
[oauth]
issuers = ["https://login.example"]
other_audiences = ["https://login.example/userinfo"]
algorithms = ["ES256"]
token_types = ["at+jwt", "JWT"]
keys_url = "https://login.example/keys"

[oauth.scopes]
"mcp" = ["member"]
"*" = ["status:read"]

[[oauth.subjects]]
subject = "auth|1"
principal = "ana"

[[oauth.subjects]]
issuer = "https://login.example"
claim = "email"
like = "*@a.example"
create = "viewer"
clearance = "team+finance"
"""


def test_everything_can_be_said(read: Read) -> None:
    oauth = read(WHOLE).oauth

    assert oauth.trusted("https://us/mcp") == {
        "https://login.example": Issuer(
            url="https://login.example",
            audience="https://us/mcp",
            beside=frozenset({"https://login.example/userinfo"}),
            algorithms=frozenset({"ES256"}),
            types=frozenset({"at+jwt", "application/at+jwt", "JWT"}),
            keys_url="https://login.example/keys",
        )
    }
    assert oauth.grants == {
        "mcp": SCOPES_OF[Role.MEMBER] - NEVER_OF_PROGRAMS,
        "*": frozenset({Scope.STATUS_READ}),
    }
    assert oauth.rules == [
        SubjectRule(subject="auth|1", principal="ana"),
        SubjectRule(
            issuer="https://login.example",
            claim="email",
            like="*@a.example",
            create=Role.VIEWER,
            clearance=Label(Level.TEAM, frozenset({"finance"})),
        ),
    ]


def test_nothing_is_taken_unless_somebody_says_so(read: Read) -> None:
    oauth = read("").oauth

    assert oauth.trusted("https://us/mcp") == {}
    assert oauth.grants["portico:viewer"] == SCOPES_OF[Role.VIEWER]
    assert Scope.SPACE_DELETE in oauth.grants["portico:admin"]
    assert Scope.APPROVALS_ANSWER not in oauth.grants["portico:admin"]


@pytest.mark.parametrize(
    "text",
    [
        '[oauth]\nissuers = ["http://login.example"]',
        '[oauth]\nissuers = ["login.example"]',
        '[oauth]\nissuers = ["https://u@login.example"]',
        '[oauth]\nissuers = ["https://login.example?x"]',
        '[oauth]\nalgorithms = ["HS256"]',
        '[oauth]\nalgorithms = ["none"]',
        '[oauth]\nissuers = ["https://a.example", "https://b.example"]\nkeys_url = "https://a"',
        '[oauth]\nissuers = ["https://a.example", "https://b.example"]\n'
        '[[oauth.subjects]]\nsubject = "a"\nprincipal = "b"',
        '[oauth]\nissuers = ["https://a.example"]\n'
        '[[oauth.subjects]]\nissuer = "https://c.example"\nsubject = "a"\nprincipal = "b"',
        '[oauth.scopes]\nx = ["nothing"]',
        '[[oauth.subjects]]\nsubject = "a"',
        '[[oauth.subjects]]\nsubject = "a"\nprincipal = "b"\ncreate = "member"',
        '[[oauth.subjects]]\nprincipal = "b"',
        '[[oauth.subjects]]\nsubject = "a"\ncreate = "admin"',
        '[[oauth.subjects]]\nsubject = "a"\ncreate = "member"\nclearance = "topmost"',
    ],
)
def test_what_would_let_strangers_in_is_refused(read: Read, text: str) -> None:
    with pytest.raises(InvalidSettings):
        read(text)


def test_who_takes_tokens_of_several_says_whose_subjects_they_mean(read: Read) -> None:
    oauth = read(
        '[oauth]\nissuers = ["https://a.example", "https://b.example"]\n'
        '[[oauth.subjects]]\nissuer = "https://a.example"\nsubject = "a"\nprincipal = "b"',
    ).oauth

    assert [rule.issuer for rule in oauth.rules] == ["https://a.example"]
