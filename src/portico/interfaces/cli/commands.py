"""The commands by name, and the overview of them, known without loading any."""

from collections.abc import Mapping
from typing import Final

HELP: Final = """One door for AI agents: to tools, models, each other and their people.

First time here: portico init, then portico up, then portico connect."""

COMMANDS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "Start": {
        "init": ("portico.interfaces.cli.init:init", "Set up this installation; safe to repeat."),
        "up": ("portico.interfaces.cli.up:up", "Start the server in the background; kept up."),
        "down": ("portico.interfaces.cli.up:down", "End the server."),
        "restart": ("portico.interfaces.cli.up:restart", "End the server and start it anew."),
        "connect": (
            "portico.interfaces.cli.clients:connect",
            "Put Portico into the file of a client.",
        ),
        "disconnect": (
            "portico.interfaces.cli.clients:disconnect",
            "Take it out again, to the byte.",
        ),
        "serve": ("portico.interfaces.cli.up:serve", "Run the server, until Ctrl-C."),
        "stdio": (
            "portico.interfaces.cli.up:stdio",
            "Join a desktop client to the running server.",
        ),
        "status": ("portico.interfaces.cli.status:status", "How the running server is."),
        "ui": (
            "portico.interfaces.cli.principals:ui",
            "Open the console in your browser, logged in.",
        ),
        "demo": (
            "portico.interfaces.cli.demo:demo",
            "Sample servers and content; --remove ends it.",
        ),
        "doctor": (
            "portico.interfaces.cli.status:doctor",
            "Find what is wrong; --fix mends what it can.",
        ),
    },
    "Tools": {
        "servers": ("portico.interfaces.cli.servers:app", "Add, approve and look after servers."),
        "tools": ("portico.interfaces.cli.tools:app", "The tools of all servers."),
        "search": ("portico.interfaces.cli.tools:search", "Find tools by what they should do."),
        "call": ("portico.interfaces.cli.tools:call", "Call a tool."),
        "approvals": (
            "portico.interfaces.cli.approvals:app",
            "See and answer what agents ask to be allowed.",
        ),
    },
    "Agents": {
        "agents": (
            "portico.interfaces.cli.agents:app",
            "Make agents, talk to them, see what they did.",
        ),
        "models": (
            "portico.interfaces.cli.models:app",
            "The models that agents are run by.",
        ),
        "bridge": (
            "portico.interfaces.cli.bridge:app",
            "Agents and people at one table: talk, memory, leases, work.",
        ),
        "connect-agent": (
            "portico.interfaces.cli.connect_agent:connect_agent",
            "Have an agent take part in a conversation.",
        ),
        "debate": (
            "portico.interfaces.cli.debates:app",
            "Ask several voices; get the likeliest answer, or none.",
        ),
        "notifications": (
            "portico.interfaces.cli.notifications:notifications",
            "What agents tell the people here.",
        ),
    },
    "Work": {
        "run": (
            "portico.interfaces.cli.workflows:run",
            "Carry out a plan or a program, and look on.",
        ),
        "plan": (
            "portico.interfaces.cli.plans:app",
            "Have plans suggested; check, describe, convert, complete them.",
        ),
        "feedback": (
            "portico.interfaces.cli.suggestions:feedback",
            "Say what a suggestion was worth.",
        ),
        "workflows": (
            "portico.interfaces.cli.workflows:app",
            "Look at, control and save workflows.",
        ),
        "ahead": (
            "portico.interfaces.cli.prefetch:app",
            "Calls made before they are asked for; switch them.",
        ),
        "graph": (
            "portico.interfaces.cli.tool_graph:app",
            "Which tool comes after which, as learnt from calls.",
        ),
        "runs": ("portico.interfaces.cli.runs:app", "Start, watch and control runs."),
    },
    "Who": {
        "keys": ("portico.interfaces.cli.keys:app", "Make, list, rotate and revoke keys."),
        "people": (
            "portico.interfaces.cli.principals:app",
            "Invite people, add agents, change roles.",
        ),
        "policy": (
            "portico.interfaces.cli.policy:app",
            "Who may do what: explain it, allow, ask, deny.",
        ),
        "contexts": (
            "portico.interfaces.cli.spaces:contexts_app",
            "Open, list and close clean tasks.",
        ),
        "secrets": (
            "portico.interfaces.cli.secrets:app",
            "Give Portico secrets for servers of tools.",
        ),
        "spaces": ("portico.interfaces.cli.spaces:app", "Found, export and delete spaces."),
        "join": ("portico.interfaces.cli.principals:join", "Accept an invitation."),
    },
    "Upkeep": {
        "audit": (
            "portico.interfaces.cli.audit:app",
            "What was done and decided; whether it is true.",
        ),
        "config": ("portico.interfaces.cli.config:app", "Show, check and change settings."),
        "embeddings": (
            "portico.interfaces.cli.models:embeddings_app",
            "Fetch and choose what search by meaning uses.",
        ),
        "db": (
            "portico.interfaces.cli.db:app",
            "The database: migrate, back up, restore, upgrade.",
        ),
        "uninstall": (
            "portico.interfaces.cli.uninstall:uninstall",
            "Stop everything; --purge removes what is kept.",
        ),
        "version": ("portico.interfaces.cli.app:version", "Which version this is."),
        "completion": (
            "portico.interfaces.cli.app:completion",
            "Completion script for a shell.",
        ),
    },
}

OPTIONS: Final[Mapping[str, str]] = {
    "--json": "Answer in JSON.",
    "--quiet": "No talk, only data.",
    "--no-input": "Never ask.",
    "--debug": "Show tracebacks.",
    "--config PATH": "Use this configuration file.",
    "--version": "Which version this is.",
}


def overview(extra: Mapping[str, tuple[str, str]]) -> str:
    """What `portico --help` says; made here, since the parser takes ten times as long to load."""
    groups = {
        title: {name: text for name, (_, text) in commands.items()}
        for title, commands in {**COMMANDS, "Measure": extra}.items()
    }
    lines = ["Usage: portico COMMAND [OPTIONS]", "", HELP]
    for title, entries in {**groups, "Options": OPTIONS}.items():
        lines += ["", title, *(f"  {name.ljust(13)}  {text}" for name, text in entries.items())]
    return "\n".join([*lines, "", "More of a command: portico COMMAND --help"])
