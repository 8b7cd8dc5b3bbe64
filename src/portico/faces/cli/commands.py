"""The commands there are, by name, and the overview of them: known without loading any."""

from collections.abc import Mapping
from typing import Final

HELP: Final = """One door for AI agents: to tools, models, each other and their people.

First time here: portico init, then portico up, then portico connect."""

COMMANDS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "Start": {
        "init": ("portico.faces.cli.init:init", "Set up this installation; safe to repeat."),
        "up": ("portico.faces.cli.up:up", "Start the server in the background; kept up."),
        "down": ("portico.faces.cli.up:down", "End the server."),
        "restart": ("portico.faces.cli.up:restart", "End the server and start it anew."),
        "connect": (
            "portico.faces.cli.client_connect:connect",
            "Put Portico into the file of a client.",
        ),
        "disconnect": (
            "portico.faces.cli.client_disconnect:disconnect",
            "Take it out again, to the byte.",
        ),
        "serve": ("portico.faces.cli.serve:serve", "Run the server, until Ctrl-C."),
        "stdio": ("portico.faces.cli.stdio:stdio", "Join a desktop client to the running server."),
        "status": ("portico.faces.cli.status:status", "How the running server is."),
        "ui": ("portico.faces.cli.ui:ui", "Open the console in your browser, logged in."),
        "demo": ("portico.faces.cli.demo:demo", "Sample servers and content; --remove ends it."),
        "doctor": (
            "portico.faces.cli.doctor:doctor",
            "Find what is wrong; --fix mends what it can.",
        ),
    },
    "Tools": {
        "servers": ("portico.faces.cli.servers:app", "Add, approve and look after servers."),
        "tools": ("portico.faces.cli.tools:app", "The tools of all servers."),
        "search": ("portico.faces.cli.search:search", "Find tools by what they should do."),
        "call": ("portico.faces.cli.call:call", "Call a tool."),
        "approvals": (
            "portico.faces.cli.approvals:app",
            "See and answer what agents ask to be allowed.",
        ),
    },
    "Agents": {
        "agents": (
            "portico.faces.cli.agents:app",
            "Make agents, talk to them, see what they did.",
        ),
        "models": (
            "portico.faces.cli.models:app",
            "The models that agents are run by.",
        ),
        "bridge": (
            "portico.faces.cli.bridge:app",
            "Agents and people at one table: talk, memory, leases, work.",
        ),
        "connect-agent": (
            "portico.faces.cli.connect_agent:connect_agent",
            "Have an agent take part in a conversation.",
        ),
        "debate": (
            "portico.faces.cli.debate:app",
            "Ask several voices; get the likeliest answer, or none.",
        ),
        "notifications": (
            "portico.faces.cli.notifications:notifications",
            "What agents tell the people here.",
        ),
    },
    "Work": {
        "run": (
            "portico.faces.cli.run_file:run",
            "Carry out a plan or a program, and look on.",
        ),
        "plan": (
            "portico.faces.cli.plan:app",
            "Have plans suggested; check, describe, convert, complete them.",
        ),
        "feedback": (
            "portico.faces.cli.feedback:feedback",
            "Say what a suggestion was worth.",
        ),
        "workflows": (
            "portico.faces.cli.workflows:app",
            "Look at, control and save workflows.",
        ),
        "ahead": (
            "portico.faces.cli.ahead:app",
            "Calls made before they are asked for; switch them.",
        ),
        "graph": (
            "portico.faces.cli.graph:app",
            "Which tool comes after which, as learnt from calls.",
        ),
        "runs": ("portico.faces.cli.runs:app", "Start, watch and control runs."),
    },
    "Who": {
        "keys": ("portico.faces.cli.keys:app", "Make, list, rotate and revoke keys."),
        "people": ("portico.faces.cli.people:app", "Invite people, add agents, change roles."),
        "policy": (
            "portico.faces.cli.policy:app",
            "Who may do what: explain it, allow, ask, deny.",
        ),
        "contexts": ("portico.faces.cli.contexts:app", "Open, list and close clean tasks."),
        "secrets": ("portico.faces.cli.secrets:app", "Give Portico secrets for servers of tools."),
        "spaces": ("portico.faces.cli.spaces:app", "Found, export and delete spaces."),
        "join": ("portico.faces.cli.join:join", "Accept an invitation."),
    },
    "Upkeep": {
        "audit": ("portico.faces.cli.audit:app", "What was done and decided; whether it is true."),
        "config": ("portico.faces.cli.config:app", "Show, check and change settings."),
        "embeddings": (
            "portico.faces.cli.embeddings:app",
            "Fetch and choose what search by meaning uses.",
        ),
        "db": ("portico.faces.cli.db:app", "The database: migrate, back up, restore, upgrade."),
        "uninstall": (
            "portico.faces.cli.uninstall:uninstall",
            "Stop everything; --purge removes what is kept.",
        ),
        "version": ("portico.faces.cli.about:version", "Which version this is."),
        "completion": ("portico.faces.cli.about:completion", "Completion script for a shell."),
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
