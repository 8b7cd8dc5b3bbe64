"""Every route, and what a key must hold to be let through: one table for all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from portico.guard.core.roles import Scope

NOBODY: Final = "prn_" + "0" * 26


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
    ("GET", "/v1/models"): door(Scope.AGENTS_READ),
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
    ("GET", "/metrics"): door(Scope.METRICS_READ),
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
