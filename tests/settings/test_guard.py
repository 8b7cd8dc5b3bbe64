"""Settings of the guard: policy, approvals, audit, limits, secrets, and access tokens of other
issuers.
"""

import pytest

from portico.guard.core.principals import NEVER_OF_PROGRAMS, SCOPES_OF, Role, Scope
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.guard.core.tokens import Issuer, SubjectRule
from portico.kernel.effect import Effect
from portico.kernel.label import Label, Level
from portico.settings.load import InvalidSettings
from tests.settings.conftest import Machine, Read

WHOLE = """
[[policy.rules]]
name = "no-deletes"
decision = "deny"
tools = "github.delete_*"

[[policy.rules]]
name = "mail"
decision = "ask"
tools = ["mail.*", "post.*"]
except = ["mail.read_*"]
who = ["role:member", "kind:agent"]
effects = ["external_write"]

[[policy.rules]]
name = "trusted"
decision = "allow"
tools = ["notes.*"]
who = "ana"
tainted = true
upto = "team+finance"
"""


def test_nothing_is_decided_unless_somebody_says_so(read: Read) -> None:
    assert read("").policy.made == []


def test_rules_are_read_as_they_are_meant(read: Read) -> None:
    assert read(WHOLE).policy.made == [
        Rule(
            name="no-deletes",
            ruling=Ruling.DENY,
            tools=("github.delete_*",),
            source=RuleSource.FILE,
        ),
        Rule(
            name="mail",
            ruling=Ruling.ASK,
            tools=("mail.*", "post.*"),
            but=("mail.read_*",),
            who=("role:member", "kind:agent"),
            effects=frozenset({Effect.EXTERNAL_WRITE}),
            source=RuleSource.FILE,
        ),
        Rule(
            name="trusted",
            ruling=Ruling.ALLOW,
            tools=("notes.*",),
            who=("ana",),
            tainted=True,
            max_label=Label(Level.TEAM, frozenset({"finance"})),
            source=RuleSource.FILE,
        ),
    ]


@pytest.mark.parametrize(
    ("line", "field", "message"),
    [
        ('who = "role:boss"', "policy.rules.1.who", "there is no role 'boss'"),
        ('who = "rol:member"', "policy.rules.1.who", "must be a name, role:"),
        ("reads = true", "policy.rules.1.reads", "only where the decision is ask"),
        ("tainted = true", "policy.rules.1.tainted", "only where the decision is allow"),
        ('effects = "odd"', "policy.rules.1.effects.0", "'pure', 'local_read'"),
        ('excpet = "x"', "policy.rules.1.excpet", "did you mean except?"),
        ('but = "x"', "policy.rules.1.but", "there is no such setting"),
    ],
)
def test_a_rule_that_cannot_be_meant_says_why(
    read: Read, line: str, field: str, message: str
) -> None:
    rule = f'[[policy.rules]]\nname = "x"\ndecision = "deny"\ntools = "a.*"\n{line}\n'

    with pytest.raises(InvalidSettings) as caught:
        read(rule)

    [flaw] = caught.value.field_errors
    assert flaw.field == field
    assert message in flaw.message
    assert "portico.toml" in flaw.message
    assert "in the rule 'x'" in flaw.message


def test_rules_have_names_of_their_own(read: Read, machine: Machine) -> None:
    rule = '[[policy.rules]]\nname = "x"\ndecision = "deny"\ntools = "a.*"\n'

    with pytest.raises(InvalidSettings, match="more than one is called x"):
        read(rule + rule)
    machine.user_file.write_text(rule + rule.replace('name = "x"\n', ""))
    [flaw] = machine.flaws()
    assert flaw.field == "policy.rules.2.name"
    assert "in the rule" not in flaw.message


def test_a_file_that_came_with_a_folder_decides_nothing(machine: Machine) -> None:
    machine.project_file.write_text(WHOLE)

    assert "is for you to set, not for a folder" in machine.flaws()[0].message


OAUTH_WHOLE = """
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
    oauth = read(OAUTH_WHOLE).oauth

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
