"""Every route, and what a key must hold to be let through: one table for all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from portico.guard.core.principals import Scope

NOBODY: Final = "prn_" + "0" * 26
_TALK: Final = "conversation=cnv_" + "0" * 26


@dataclass(frozen=True)
class Door:
    """`any_of`: one of these scopes is enough. Empty: any key opens it. What is asked for is not
    there, so that whoever is let through hears so, and nothing is changed."""

    any_of: frozenset[Scope]
    body: Mapping[str, Any] | None = None
    query: str = ""
    hides: bool = False
    """Whoever may not hears that it is not there, which is all they may know."""
    lasts: bool = False
    """Answers for as long as somebody listens: only the refusals are asked for."""


def door(*scopes: Scope, **more: Any) -> Door:
    return Door(frozenset(scopes), **more)


DOORS: Final[Mapping[tuple[str, str], Door]] = {
    ("GET", "/api/v1/status"): door(Scope.STATUS_READ),
    ("GET", "/api/v1/me"): door(),
    ("GET", "/api/v1/spaces"): door(Scope.SPACE_READ),
    ("POST", "/api/v1/spaces"): door(Scope.SPACES_CREATE, body={"name": "b", "admin": "eve"}),
    ("GET", "/api/v1/spaces/{space_id}"): door(Scope.SPACE_READ),
    ("PATCH", "/api/v1/spaces/{space_id}"): door(Scope.SPACE_WRITE, body={"name": "b"}),
    ("DELETE", "/api/v1/spaces/{space_id}"): door(Scope.SPACE_DELETE, query="confirm=not-its-name"),
    ("GET", "/api/v1/spaces/{space_id}/export"): door(Scope.SPACE_EXPORT),
    ("GET", "/api/v1/principals"): door(Scope.PRINCIPALS_READ),
    ("POST", "/api/v1/principals"): door(
        Scope.PRINCIPALS_WRITE, body={"kind": "agent", "name": "x", "roles": []}
    ),
    ("GET", "/api/v1/principals/{principal_id}"): door(Scope.PRINCIPALS_READ),
    ("PATCH", "/api/v1/principals/{principal_id}"): door(
        Scope.PRINCIPALS_WRITE, body={"disabled": True}
    ),
    ("POST", "/api/v1/invitations"): door(
        Scope.PRINCIPALS_WRITE, body={"name": "y", "roles": [], "clearance": "public"}
    ),
    ("POST", "/api/v1/invitations/{principal_id}/again"): door(Scope.PRINCIPALS_WRITE),
    ("POST", "/api/v1/invitations/accept"): door(Scope.INVITATION_ACCEPT),
    ("GET", "/api/v1/keys"): door(Scope.KEYS_OWN, Scope.KEYS_READ),
    ("POST", "/api/v1/keys"): door(Scope.KEYS_OWN, body={"name": "z", "scopes": []}),
    ("GET", "/api/v1/keys/{key_id}"): door(Scope.KEYS_READ, hides=True),
    ("DELETE", "/api/v1/keys/{key_id}"): door(Scope.KEYS_WRITE, hides=True),
    ("POST", "/api/v1/keys/{key_id}/rotate"): door(Scope.KEYS_WRITE, body={}, hides=True),
    ("GET", "/api/v1/keys/{key_id}/trust"): door(Scope.KEYS_READ),
    ("PUT", "/api/v1/keys/{key_id}/trust"): door(Scope.KEYS_WRITE, body={"person": None}),
    ("POST", "/api/v1/console-links"): door(),
    ("GET", "/api/v1/contexts"): door(Scope.CONTEXTS_OPEN),
    ("POST", "/api/v1/contexts"): door(Scope.CONTEXTS_OPEN, body={"name": "spring"}),
    ("DELETE", "/api/v1/contexts/{context}"): door(Scope.CONTEXTS_OPEN),
    ("GET", "/api/v1/approvals"): door(Scope.APPROVALS_READ),
    ("GET", "/api/v1/approvals/{approval}"): door(Scope.APPROVALS_ANSWER, hides=True),
    ("POST", "/api/v1/approvals/{approval}/answer"): door(
        Scope.APPROVALS_ANSWER, body={"answer": "reject"}
    ),
    ("POST", "/api/v1/approvals/{approval}/withdraw"): door(),
    ("POST", "/api/v1/approvals/{approval}/resolve"): door(
        Scope.APPROVALS_ANSWER, body={"outcome": "skip"}
    ),
    ("GET", "/api/v1/audit"): door(Scope.AUDIT_READ),
    ("GET", "/api/v1/audit/head"): door(Scope.AUDIT_READ),
    ("GET", "/api/v1/audit/export"): door(Scope.AUDIT_READ),
    ("GET", "/api/v1/audit/verify"): door(Scope.AUDIT_READ),
    ("GET", "/api/v1/secrets"): door(Scope.SECRETS_READ),
    ("PUT", "/api/v1/secrets/{name}"): door(Scope.SECRETS_WRITE, body={"value": "a\x00b"}),
    ("DELETE", "/api/v1/secrets/{name}"): door(Scope.SECRETS_WRITE),
    ("GET", "/api/v1/policy/rules"): door(Scope.POLICY_READ),
    ("POST", "/api/v1/policy/rules"): door(
        Scope.POLICY_WRITE, body={"decision": "deny", "tools": ["*"], "reads": True}
    ),
    ("DELETE", "/api/v1/policy/rules/{name}"): door(Scope.POLICY_WRITE),
    ("GET", "/api/v1/policy/explain"): door(
        Scope.POLICY_READ, query="principal=ana&tool=files.read"
    ),
    ("POST", "/api/v1/runs"): door(Scope.RUNS_WRITE, body={"kind": "drill"}),
    ("GET", "/api/v1/runs"): door(Scope.RUNS_READ),
    ("GET", "/api/v1/runs/{run_id}"): door(Scope.RUNS_READ),
    ("POST", "/api/v1/runs/{run_id}/cancel"): door(Scope.RUNS_WRITE),
    ("POST", "/api/v1/runs/{run_id}/resume"): door(Scope.RUNS_WRITE),
    ("POST", "/api/v1/runs/{run_id}/fork"): door(Scope.RUNS_WRITE, body={"step": "a"}),
    ("POST", "/api/v1/runs/{run_id}/signals/{topic}"): door(Scope.RUNS_WRITE, body={"payload": 1}),
    ("GET", "/api/v1/runs/{run_id}/events"): door(Scope.RUNS_READ),
    ("GET", "/api/v1/events"): door(Scope.EVENTS_READ, query="topics=news", lasts=True),
    ("GET", "/api/v1/servers"): door(Scope.SERVERS_READ),
    ("POST", "/api/v1/servers"): door(
        Scope.SERVERS_WRITE,
        body={"name": "BAD NAME", "launch": {"type": "stdio", "command": "x"}},
    ),
    ("GET", "/api/v1/servers/{name}"): door(Scope.SERVERS_READ),
    ("DELETE", "/api/v1/servers/{name}"): door(Scope.SERVERS_WRITE),
    ("POST", "/api/v1/servers/{name}/enable"): door(Scope.SERVERS_WRITE),
    ("POST", "/api/v1/servers/{name}/disable"): door(Scope.SERVERS_WRITE),
    ("POST", "/api/v1/servers/{name}/restart"): door(Scope.SERVERS_WRITE),
    ("GET", "/api/v1/servers/{name}/logs"): door(Scope.SERVERS_READ),
    ("GET", "/api/v1/servers/{name}/profile"): door(Scope.SERVERS_READ),
    ("PUT", "/api/v1/servers/{name}/profile"): door(Scope.SERVERS_WRITE, body={}),
    ("DELETE", "/api/v1/servers/{name}/profile"): door(Scope.SERVERS_WRITE),
    ("PUT", "/api/v1/servers/{name}/label"): door(
        Scope.SERVERS_APPROVE, body={"clearance": "public"}
    ),
    ("POST", "/api/v1/servers/{name}/approve-launch"): door(
        Scope.SERVERS_APPROVE, body={"launch_pin": "0" * 64}
    ),
    ("GET", "/api/v1/servers/{name}/review"): door(Scope.SERVERS_APPROVE),
    ("POST", "/api/v1/servers/{name}/accept"): door(Scope.SERVERS_APPROVE, body={"pin": "0" * 64}),
    ("POST", "/api/v1/search"): door(Scope.TOOLS_READ, body={"queries": ["read a file"]}),
    ("POST", "/api/v1/workflows/propose"): door(Scope.TOOLS_READ, body={"plan": {"steps": []}}),
    ("GET", "/api/v1/tools"): door(Scope.SERVERS_READ),
    ("PUT", "/api/v1/effects"): door(
        Scope.SERVERS_APPROVE, body={"tools": "files.*", "effect": "local_read"}
    ),
    ("GET", "/api/v1/tools/{tool}"): door(Scope.SERVERS_READ),
    ("GET", "/api/v1/figures"): door(Scope.SERVERS_READ),
    ("POST", "/api/v1/servers/{name}/login"): door(Scope.TOOLS_WRITE),
    ("GET", "/api/v1/servers/{name}/login"): door(Scope.TOOLS_CALL),
    ("DELETE", "/api/v1/servers/{name}/login"): door(Scope.TOOLS_WRITE),
    ("PUT", "/api/v1/servers/{name}/login-client"): door(Scope.SERVERS_WRITE, body={}),
    ("DELETE", "/api/v1/servers/{name}/login-client"): door(Scope.SERVERS_WRITE),
    ("POST", "/api/v1/workflows/check"): door(
        Scope.TOOLS_READ, Scope.TOOLS_CALL, body={"plan": {}}
    ),
    ("POST", "/api/v1/workflows"): door(Scope.TOOLS_CALL, body={"plan": {}}),
    ("POST", "/api/v1/suggestions"): door(Scope.TOOLS_READ, body={"intent": "look"}),
    ("POST", "/api/v1/feedback"): door(
        Scope.TOOLS_CALL, body={"run": "sug_" + "0" * 26, "outcome": "accepted"}
    ),
    ("GET", "/api/v1/workflows"): door(Scope.RUNS_READ, Scope.TOOLS_CALL),
    ("GET", "/api/v1/workflows/{run_id}"): door(),
    ("POST", "/api/v1/workflows/{run_id}/cancel"): door(),
    ("POST", "/api/v1/workflows/{run_id}/resume"): door(),
    ("POST", "/api/v1/workflows/{run_id}/fork"): door(body={"step": "a"}),
    ("POST", "/api/v1/workflows/{run_id}/resolve"): door(
        Scope.APPROVALS_ANSWER, body={"step": "a", "outcome": "done"}
    ),
    ("POST", "/api/v1/programs"): door(Scope.TOOLS_CALL, body={"code": "def"}),
    ("GET", "/api/v1/saved-workflows"): door(Scope.TOOLS_READ),
    ("GET", "/api/v1/saved-workflows/{name}"): door(Scope.TOOLS_READ),
    ("PUT", "/api/v1/saved-workflows/{name}"): door(Scope.WORKFLOWS_WRITE, body={"plan": {}}),
    ("DELETE", "/api/v1/saved-workflows/{name}"): door(Scope.WORKFLOWS_WRITE),
    ("POST", "/api/v1/calls"): door(Scope.TOOLS_CALL, body={"tool": "files.read"}),
    ("GET", "/api/v1/calls"): door(Scope.TOOLS_READ),
    ("GET", "/api/v1/results/{result}"): door(Scope.TOOLS_CALL),
    ("GET", "/api/v1/ahead"): door(Scope.SERVERS_READ),
    ("PUT", "/api/v1/ahead"): door(Scope.SERVERS_APPROVE, body={}),
    ("GET", "/api/v1/ahead/edges"): door(Scope.SERVERS_READ),
    ("GET", "/api/v1/graph"): door(Scope.TOOLS_READ),
    ("GET", "/api/v1/graph/stats"): door(Scope.TOOLS_READ),
    ("GET", "/api/v1/graph/path"): door(Scope.TOOLS_READ, query="from=a.b&to=a.c"),
    ("GET", "/api/v1/graph/communities"): door(Scope.TOOLS_READ),
    ("GET", "/api/v1/graph/neighbours/{tool}"): door(Scope.TOOLS_READ),
    ("POST", "/api/v1/agents/{name}/runs"): door(Scope.AGENTS_RUN, body={"message": "Hello"}),
    ("POST", "/api/v1/agents/{name}/ag-ui"): door(
        Scope.AGENTS_RUN,
        body={
            "threadId": "t",
            "runId": "r",
            "messages": [{"id": "1", "role": "user", "content": "Hello"}],
        },
    ),
    ("GET", "/api/v1/agents/runs/{run_id}/events"): door(),
    ("POST", "/api/v1/agents/runs/{run_id}/messages"): door(
        Scope.AGENTS_RUN, body={"message": "Stay"}
    ),
    ("POST", "/api/v1/agents/runs/{run_id}/stop"): door(Scope.AGENTS_RUN),
    ("POST", "/api/v1/agents/runs/{run_id}/resume"): door(Scope.AGENTS_RUN),
    ("POST", "/api/v1/agents/runs/{run_id}/resolve"): door(
        Scope.APPROVALS_ANSWER, body={"step": "call-1-0", "outcome": "skip"}
    ),
    ("GET", "/api/v1/models"): door(Scope.MODELS_READ),
    ("GET", "/api/v1/models/providers"): door(Scope.MODELS_READ),
    ("GET", "/api/v1/models/{model}"): door(Scope.MODELS_READ),
    ("POST", "/api/v1/models/test"): door(Scope.AGENTS_RUN, body={"model": "router:m"}),
    ("GET", "/v1/models"): door(Scope.AGENTS_READ, Scope.DEBATES_RUN),
    ("GET", "/v1/models/{model}"): door(Scope.AGENTS_READ),
    ("POST", "/v1/chat/completions"): door(
        Scope.AGENTS_RUN,
        body={"model": "agent/files", "messages": [{"role": "user", "content": "Hello"}]},
    ),
    ("GET", "/api/v1/agents"): door(Scope.AGENTS_READ),
    ("POST", "/api/v1/agents"): door(Scope.AGENTS_WRITE, body={"name": "?", "model": "a:b"}),
    ("POST", "/api/v1/agents/check"): door(Scope.AGENTS_READ, Scope.AGENTS_WRITE, body={}),
    ("POST", "/api/v1/agents/import"): door(Scope.AGENTS_WRITE, body={"toml": "a = "}),
    ("GET", "/api/v1/agents/templates"): door(),
    ("GET", "/api/v1/agents/{name}"): door(Scope.AGENTS_READ),
    ("PUT", "/api/v1/agents/{name}"): door(
        Scope.AGENTS_WRITE, body={"name": "files", "model": "a:b"}
    ),
    ("DELETE", "/api/v1/agents/{name}"): door(Scope.AGENTS_WRITE),
    ("POST", "/api/v1/agents/{name}/duplicate"): door(Scope.AGENTS_WRITE, body={"name": "other"}),
    ("GET", "/api/v1/agents/{name}/versions"): door(Scope.AGENTS_READ),
    ("GET", "/api/v1/agents/{name}/diff"): door(Scope.AGENTS_READ, query="from=1&to=2"),
    ("POST", "/api/v1/agents/{name}/restore"): door(Scope.AGENTS_WRITE, body={"version": 1}),
    ("GET", "/api/v1/agents/{name}/export"): door(Scope.AGENTS_READ),
    ("GET", "/api/v1/traces"): door(Scope.AGENTS_READ),
    ("GET", "/api/v1/traces/{run_id}"): door(),
    ("GET", "/api/v1/traces/{run_id}/export"): door(),
    ("GET", "/api/v1/stats/tools"): door(Scope.AGENTS_READ),
    ("GET", "/api/v1/stats/models"): door(Scope.AGENTS_READ),
    ("GET", "/api/v1/projects"): door(Scope.BRIDGE_READ),
    ("POST", "/api/v1/projects"): door(Scope.BRIDGE_WRITE, body={"name": " no name"}),
    ("GET", "/api/v1/projects/{project}"): door(Scope.BRIDGE_READ),
    ("PATCH", "/api/v1/projects/{project}"): door(Scope.BRIDGE_WRITE, body={"name": "b"}),
    ("GET", "/api/v1/projects/{project}/export"): door(Scope.BRIDGE_READ),
    ("GET", "/api/v1/projects/{project}/memory"): door(Scope.BRIDGE_READ),
    ("GET", "/api/v1/projects/{project}/memory/value"): door(Scope.BRIDGE_READ, query="key=a"),
    ("PUT", "/api/v1/projects/{project}/memory/value"): door(
        Scope.BRIDGE_WRITE, body={"value": 1}, query="key=a"
    ),
    ("DELETE", "/api/v1/projects/{project}/memory/value"): door(Scope.BRIDGE_WRITE, query="key=a"),
    ("GET", "/api/v1/projects/{project}/memory/history"): door(Scope.BRIDGE_READ, query="key=a"),
    ("GET", "/api/v1/projects/{project}/memory/search"): door(Scope.BRIDGE_READ, query="q=a"),
    ("POST", "/api/v1/projects/{project}/attachments"): door(Scope.BRIDGE_WRITE, query="name=a"),
    ("GET", "/api/v1/attachments/{digest}"): door(Scope.BRIDGE_READ),
    ("GET", "/api/v1/projects/{project}/leases"): door(Scope.BRIDGE_READ),
    ("POST", "/api/v1/projects/{project}/leases"): door(Scope.BRIDGE_WRITE, body={"resource": "a"}),
    ("POST", "/api/v1/projects/{project}/leases/check"): door(
        Scope.BRIDGE_READ, body={"resource": "a", "token": 1}
    ),
    ("POST", "/api/v1/leases/{lease}/renew"): door(Scope.BRIDGE_WRITE, body={"token": 1}),
    ("POST", "/api/v1/leases/{lease}/release"): door(Scope.BRIDGE_WRITE, body={"token": 1}),
    ("GET", "/api/v1/projects/{project}/work"): door(Scope.BRIDGE_READ),
    ("POST", "/api/v1/projects/{project}/work"): door(Scope.BRIDGE_WRITE, body={"title": "a"}),
    ("GET", "/api/v1/work/{work}"): door(Scope.BRIDGE_READ),
    ("POST", "/api/v1/work/{work}/claim"): door(Scope.BRIDGE_WRITE),
    ("POST", "/api/v1/work/{work}/hand-over"): door(Scope.BRIDGE_WRITE, body={"token": 1}),
    ("POST", "/api/v1/work/{work}/end"): door(Scope.BRIDGE_WRITE, body={"token": 1}),
    ("GET", "/api/v1/projects/{project}/presence"): door(Scope.BRIDGE_READ),
    ("PUT", "/api/v1/projects/{project}/presence"): door(Scope.BRIDGE_WRITE, body={}),
    ("GET", "/api/v1/conversations"): door(Scope.BRIDGE_READ),
    ("POST", "/api/v1/conversations"): door(
        Scope.BRIDGE_WRITE, body={"project": "prj_" + "0" * 26, "title": "a"}
    ),
    ("GET", "/api/v1/conversations/{conversation}"): door(Scope.BRIDGE_READ),
    ("PATCH", "/api/v1/conversations/{conversation}"): door(
        Scope.BRIDGE_WRITE, body={"title": "a"}
    ),
    ("GET", "/api/v1/conversations/{conversation}/participants"): door(Scope.BRIDGE_READ),
    ("POST", "/api/v1/conversations/{conversation}/participants"): door(
        Scope.BRIDGE_WRITE, body={}
    ),
    ("DELETE", "/api/v1/conversations/{conversation}/participants/{principal_id}"): door(
        Scope.BRIDGE_WRITE
    ),
    ("PUT", "/api/v1/conversations/{conversation}/mute"): door(
        Scope.BRIDGE_READ, body={"muted": True}
    ),
    ("POST", "/api/v1/conversations/{conversation}/messages"): door(
        Scope.BRIDGE_WRITE, body={"body": "a"}
    ),
    ("GET", "/api/v1/conversations/{conversation}/messages"): door(Scope.BRIDGE_READ),
    ("GET", "/api/v1/conversations/{conversation}/cursor"): door(Scope.BRIDGE_READ),
    ("POST", "/api/v1/conversations/{conversation}/read"): door(
        Scope.BRIDGE_READ, body={"cursor": "a"}
    ),
    ("GET", "/api/v1/bridge/search"): door(Scope.BRIDGE_READ, query="q=a"),
    ("GET", "/api/v1/messages/{message}"): door(Scope.BRIDGE_READ),
    ("PATCH", "/api/v1/messages/{message}"): door(Scope.BRIDGE_WRITE, body={"body": "a"}),
    ("DELETE", "/api/v1/messages/{message}"): door(Scope.BRIDGE_WRITE),
    ("GET", "/api/v1/messages/{message}/versions"): door(Scope.BRIDGE_READ),
    ("GET", "/api/v1/messages/{message}/thread"): door(Scope.BRIDGE_READ),
    ("POST", "/api/v1/messages/{message}/read"): door(Scope.BRIDGE_READ),
    ("POST", "/api/v1/messages/{message}/acknowledgements"): door(Scope.BRIDGE_WRITE),
    ("GET", "/api/v1/messages/{message}/acknowledgements"): door(Scope.BRIDGE_READ),
    ("POST", "/api/v1/messages/{message}/declassification"): door(
        Scope.BRIDGE_WRITE, body={"to": "public"}
    ),
    ("GET", "/api/v1/messages/{message}/declassifications"): door(Scope.BRIDGE_READ),
    ("GET", "/api/v1/inbox"): door(Scope.BRIDGE_READ),
    ("GET", "/api/v1/inbox/total"): door(Scope.BRIDGE_READ),
    ("GET", "/api/v1/bridge/messages"): door(Scope.BRIDGE_READ, query=_TALK),
    ("GET", "/api/v1/bridge/cursor"): door(Scope.BRIDGE_READ, query=_TALK),
    ("POST", "/api/v1/bridge/read"): door(
        Scope.BRIDGE_READ, body={"conversations": ["cnv_" + "0" * 26], "cursor": "a"}
    ),
    ("GET", "/api/v1/bridge/events"): door(Scope.BRIDGE_READ, query=_TALK),
    ("GET", "/api/v1/whoami"): door(Scope.BRIDGE_READ),
    ("GET", "/metrics"): door(Scope.METRICS_READ),
    ("POST", "/api/v1/debates"): door(Scope.DEBATES_RUN, body={"question": "Is it so?"}),
    ("POST", "/api/v1/debate-estimate"): door(Scope.DEBATES_RUN, body={"question": "Is it so?"}),
    ("GET", "/api/v1/debates"): door(Scope.DEBATES_READ),
    ("GET", "/api/v1/debates/{debate}"): door(Scope.DEBATES_READ),
    ("GET", "/api/v1/debates/{debate}/log"): door(Scope.DEBATES_READ),
    ("GET", "/api/v1/debates/{debate}/events"): door(Scope.DEBATES_READ),
    ("POST", "/api/v1/debates/{debate}/stop"): door(Scope.DEBATES_RUN),
    ("POST", "/api/v1/debates/{debate}/outcome"): door(Scope.DEBATES_RUN, body={"right": True}),
    ("POST", "/api/v1/debates/{debate}/replay"): door(Scope.DEBATES_READ, body={}),
    ("POST", "/api/v1/debates/{debate}/share"): door(Scope.DEBATES_RUN),
    ("POST", "/api/v1/debates/{debate}/promote"): door(Scope.DEBATES_RUN, body={"to": "public"}),
    ("POST", "/api/v1/debates/{debate}/join"): door(Scope.DEBATES_JOIN),
    ("POST", "/api/v1/debates/{debate}/answer"): door(Scope.DEBATES_JOIN, body={"answer": "yes"}),
    ("DELETE", "/api/v1/debates/{debate}"): door(Scope.DEBATES_RUN),
    ("GET", "/api/v1/debate-voices"): door(Scope.DEBATES_READ),
    ("GET", "/api/v1/debate-personas"): door(Scope.DEBATES_READ),
    ("PUT", "/api/v1/debate-personas/{name}"): door(
        Scope.DEBATES_RUN, body={"instructions": "Look for files."}
    ),
    ("DELETE", "/api/v1/debate-personas/{name}"): door(Scope.DEBATES_RUN),
    ("GET", "/api/v1/projects/{project}/debate-budget"): door(Scope.DEBATES_READ),
    ("PUT", "/api/v1/projects/{project}/debate-budget"): door(
        Scope.DEBATES_MANAGE, body={"tokens": 1000}
    ),
}

OPEN: Final = frozenset(
    {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/join"),
        ("GET", "/oauth/login"),
        ("POST", "/oauth/login"),
        ("GET", "/oauth/callback/{server}"),
        ("GET", "/.well-known/oauth-protected-resource"),
        ("GET", "/.well-known/oauth-protected-resource/mcp"),
    }
)
"""Behind no key at all: see `test_walls`."""
