"""Each command is either for whoever has this machine, or asks the server as any client would."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from cyclopts import App

from portico.faces import cli
from portico.faces.cli.app import build
from tests.faces.http.doors import DOORS

HERE: Final = "on this machine, by its files"
_HERE: Final = """
init, connect, disconnect, up, down, restart, serve, doctor, plan schema, plan convert,
secrets rotate, config show, config get, config validate, config schema, config path,
config set, config unset, embeddings pull, embeddings use, embeddings status, db provision,
db migrate, db status, db start, db stop, db backup, db restore, db info, db upgrade,
uninstall, version, completion
"""
_ASKING: Final = """
stdio: /mcp
status: GET /status
ui: POST /console-links
demo, spaces create: POST /spaces
servers list: GET /servers
servers show: GET /servers/{name}
servers add: POST /servers
servers approve: POST /servers/{name}/accept
servers diff: GET /servers/{name}/review
servers enable: POST /servers/{name}/enable
servers disable: POST /servers/{name}/disable
servers restart: POST /servers/{name}/restart
servers logs: GET /servers/{name}/logs
servers profile: PUT /servers/{name}/profile
servers label: PUT /servers/{name}/label
servers login: POST /servers/{name}/login
servers logout: DELETE /servers/{name}/login
servers login-config: PUT /servers/{name}/login-client
servers remove: DELETE /servers/{name}
tools list: GET /tools
tools show: GET /tools/{tool}
tools effect: PUT /effects
search: POST /search
call: POST /calls
approvals list: GET /approvals
approvals show: GET /approvals/{approval}
approvals approve, approvals reject: POST /approvals/{approval}/answer
approvals withdraw: POST /approvals/{approval}/withdraw
approvals resolve: POST /approvals/{approval}/resolve
approvals watch, notifications, runs tail: GET /events
agents new: POST /agents
agents list: GET /agents
agents show: GET /agents/{name}
agents edit: PUT /agents/{name}
agents remove: DELETE /agents/{name}
agents duplicate: POST /agents/{name}/duplicate
agents versions: GET /agents/{name}/versions
agents diff: GET /agents/{name}/diff
agents restore: POST /agents/{name}/restore
agents chat, agents test: POST /agents/{name}/runs
agents export: GET /agents/{name}/export
agents import: POST /agents/import
agents runs: GET /traces
agents trace: GET /traces/{run_id}
agents say: POST /agents/runs/{run_id}/messages
agents stop: POST /agents/runs/{run_id}/stop
agents resume: POST /agents/runs/{run_id}/resume
agents resolve: POST /agents/runs/{run_id}/resolve
agents stats: GET /stats/tools
models list: GET /models
models show: GET /models/{model}
models providers: GET /models/providers
models test: POST /models/test
debate: POST /debates
debate list: GET /debates
debate show: GET /debates/{debate}
debate log: GET /debates/{debate}/log
debate stop: POST /debates/{debate}/stop
debate outcome: POST /debates/{debate}/outcome
debate replay: POST /debates/{debate}/replay
debate voices: GET /debate-voices
debate personas list: GET /debate-personas
debate personas put: PUT /debate-personas/{name}
debate personas remove: DELETE /debate-personas/{name}
debate share: POST /debates/{debate}/share
debate promote: POST /debates/{debate}/promote
debate budget: PUT /projects/{project}/debate-budget
debate remove: DELETE /debates/{debate}
bridge inbox: GET /inbox
bridge read: GET /conversations/{conversation}/messages
bridge watch: GET /bridge/events
bridge post, connect-agent: POST /conversations/{conversation}/messages
bridge search: GET /bridge/search
bridge ack: POST /messages/{message}/acknowledgements
bridge edit: PATCH /messages/{message}
bridge delete: DELETE /messages/{message}
bridge versions: GET /messages/{message}/versions
bridge declassify: POST /messages/{message}/declassification
bridge projects list: GET /projects
bridge projects new: POST /projects
bridge projects show: GET /projects/{project}
bridge projects archive, bridge projects rename: PATCH /projects/{project}
bridge projects export: GET /projects/{project}/export
bridge conversations list: GET /conversations
bridge conversations new: POST /conversations
bridge conversations join: POST /conversations/{conversation}/participants
bridge conversations leave: DELETE /conversations/{conversation}/participants/{principal_id}
bridge conversations mute: PUT /conversations/{conversation}/mute
bridge conversations archive, bridge conversations rename: PATCH /conversations/{conversation}
bridge conversations people: GET /conversations/{conversation}/participants
bridge memory get: GET /projects/{project}/memory/value
bridge memory set: PUT /projects/{project}/memory/value
bridge memory list: GET /projects/{project}/memory
bridge memory find: GET /projects/{project}/memory/search
bridge memory history: GET /projects/{project}/memory/history
bridge memory forget: DELETE /projects/{project}/memory/value
bridge lease take: POST /projects/{project}/leases
bridge lease renew: POST /leases/{lease}/renew
bridge lease release: POST /leases/{lease}/release
bridge lease check: POST /projects/{project}/leases/check
bridge lease list: GET /projects/{project}/leases
bridge work add: POST /projects/{project}/work
bridge work list: GET /projects/{project}/work
bridge work show: GET /work/{work}
bridge work claim: POST /work/{work}/claim
bridge work hand-over: POST /work/{work}/hand-over
bridge work done, bridge work drop: POST /work/{work}/end
bridge presence list: GET /projects/{project}/presence
bridge presence say: PUT /projects/{project}/presence
bridge attach: POST /projects/{project}/attachments
bridge fetch: GET /attachments/{digest}
run: POST /workflows
plan: POST /suggestions
feedback: POST /feedback
plan check: POST /workflows/check
plan propose: POST /workflows/propose
workflows list: GET /workflows
workflows show: GET /workflows/{run_id}
workflows watch, runs export: GET /runs/{run_id}/events
workflows cancel: POST /workflows/{run_id}/cancel
workflows resume: POST /workflows/{run_id}/resume
workflows fork: POST /workflows/{run_id}/fork
workflows resolve: POST /workflows/{run_id}/resolve
workflows save: PUT /saved-workflows/{name}
workflows saved: GET /saved-workflows
workflows remove: DELETE /saved-workflows/{name}
ahead show: GET /ahead
ahead edges: GET /ahead/edges
ahead off, ahead shadow, ahead live, ahead learning: PUT /ahead
graph stats: GET /graph/stats
graph path: GET /graph/path
graph communities: GET /graph/communities
graph neighbours: GET /graph/neighbours/{tool}
graph export: GET /graph
runs list: GET /runs
runs show: GET /runs/{run_id}
runs start: POST /runs
runs cancel: POST /runs/{run_id}/cancel
runs resume: POST /runs/{run_id}/resume
runs fork: POST /runs/{run_id}/fork
runs signal: POST /runs/{run_id}/signals/{topic}
keys create: POST /keys
keys list: GET /keys
keys rotate: POST /keys/{key_id}/rotate
keys revoke: DELETE /keys/{key_id}
keys trust: PUT /keys/{key_id}/trust
people invite: POST /invitations
people add: POST /principals
people list: GET /principals
people change, people disable, people enable: PATCH /principals/{principal_id}
policy explain: GET /policy/explain
policy list: GET /policy/rules
policy allow, policy ask, policy deny: POST /policy/rules
policy remove: DELETE /policy/rules/{name}
contexts open: POST /contexts
contexts list: GET /contexts
contexts close: DELETE /contexts/{context}
secrets set: PUT /secrets/{name}
secrets list: GET /secrets
secrets unset: DELETE /secrets/{name}
spaces list: GET /spaces
spaces rename: PATCH /spaces/{space_id}
spaces export: GET /spaces/{space_id}/export
spaces delete: DELETE /spaces/{space_id}
join: POST /invitations/accept
audit tail: GET /audit
audit export: GET /audit/export
audit verify: GET /audit/verify
"""
COMMANDS: Final[Mapping[str, str]] = {
    command: route
    for line in [*_ASKING.strip().splitlines(), f"{' '.join(_HERE.split())}: {HERE}"]
    for commands, route in [line.split(": ")]
    for command in commands.split(", ")
}
"""By the route that does what the command is for; it may ask others too, as any client may."""

_WAYS: Final = {
    "get": "GET",
    "pages": "GET",
    "lines": "GET",
    "streaming": "GET",
    "post": "POST",
    "put": "PUT",
    "patch": "PATCH",
    "upload": "POST",
    "download": "GET",
    "delete": "DELETE",
}


def commands(app: App, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Taken from the command tree itself."""
    names = [name for name in app if not name.startswith("-")]
    if not names or (path and app.default_command is not None):
        yield " ".join(path)
    for name in names:
        yield from commands(app[name], (*path, name))


@pytest.mark.requirement("guard:table:every-route")
def test_every_command_is_in_the_table_and_nothing_else_is() -> None:
    assert set(commands(build())) == set(COMMANDS)


@pytest.mark.requirement("guard:table:every-route")
def test_every_route_of_the_table_has_a_lock_that_is_tried() -> None:
    routes = {f"{method} {path.removeprefix('/api/v1')}" for method, path in DOORS}

    assert set(COMMANDS.values()) - routes == {HERE, "/mcp"}


@pytest.mark.requirement("guard:table:every-route")
def test_no_command_asks_at_an_address_that_is_not_in_the_table_of_routes() -> None:
    asked = list(addresses())
    strange = [(method, path) for method, path in asked if not _known(method, path)]

    assert len(asked) >= 60
    assert strange == []


def addresses() -> Iterator[tuple[str, str]]:
    """Every one that stands in the source of the commands, with `*` for what is put in."""
    for file in sorted(Path(cli.__path__[0]).glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(attr=way), args=[first, *_]) if way in _WAYS:
                    path = _written(first)
                    if path.startswith("/") and path != "/readyz":
                        yield _WAYS[way], path


def _written(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Call(func=ast.Name(id="path_to"), args=parts):
            return "".join(f"/{_written(part) or '*'}" for part in parts)
        case _:
            return ""


def _known(method: str, path: str) -> bool:
    pattern = re.escape(f"/api/v1{path}").replace(r"\*", "[^/]+")
    return any(
        its_method == method and re.fullmatch(pattern, its_path) for its_method, its_path in DOORS
    )
