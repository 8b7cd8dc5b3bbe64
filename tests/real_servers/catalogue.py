"""Real servers from the public registries: what each is, and one call that it can answer here.

Chosen so that all of them install in a minute and work without a network. `{world}` stands for a
folder and `{outside}` for the address of a small HTTP server, both of `tests.real_servers.world`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

import pytest


class Shelf(StrEnum):
    """What is installed together, into one folder."""

    NPM = "npm"
    MODERN = "modern"
    """Python, with version 2 of the protocol's library."""
    LEGACY = "legacy"
    """Python, with the last version 1 of it."""
    OLDEST = "oldest"
    """Python, with a version so old that a server ends when it is greeted the modern way."""


CONSTRAINTS: Mapping[Shelf, tuple[str, ...]] = MappingProxyType(
    {
        Shelf.MODERN: ("mcp>=2,<3",),
        Shelf.LEGACY: ("mcp<2",),
        Shelf.OLDEST: ("mcp==1.6.0", "pydantic<2.12"),
    }
)

NO_NETWORK: Mapping[str, str] = MappingProxyType(
    {
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "NODE_USE_ENV_PROXY": "1",
    }
)
"""Whoever wants to go out is refused at once, so that the answer is the same everywhere."""


@dataclass(frozen=True, slots=True)
class Example:
    """One call, and what must be in the answer."""

    tool: str
    arguments: Mapping[str, Any]
    expected: str
    fails: bool = False
    """Offline the tool can only say why it cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealServer:
    name: str
    shelf: Shelf
    package: str
    version: str
    program: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    question: str
    """That a model might ask, to find the tool of the example."""
    example: Example


def npm(name: str, package: str, version: str, program: str, **more: Any) -> RealServer:
    return RealServer(
        name=name, shelf=Shelf.NPM, package=package, version=version, program=program, **more
    )


def pypi(name: str, shelf: Shelf, pinned: str, program: str, **more: Any) -> RealServer:
    package, version = pinned.split("==")
    return RealServer(
        name=name, shelf=shelf, package=package, version=version, program=program, **more
    )


SERVERS: tuple[RealServer, ...] = (
    npm(
        "everything",
        "@modelcontextprotocol/server-everything",
        "2026.8.31",
        "mcp-server-everything",
        question="the sum of two numbers",
        example=Example("get-sum", {"a": 19, "b": 23}, "The sum of 19 and 23 is 42."),
    ),
    npm(
        "filesystem",
        "@modelcontextprotocol/server-filesystem",
        "2026.8.31",
        "mcp-server-filesystem",
        arguments=("{world}",),
        question="read the complete contents of a text file",
        example=Example("read_text_file", {"path": "{world}/note.txt"}, "The heron stands"),
    ),
    npm(
        "memory",
        "@modelcontextprotocol/server-memory",
        "2026.8.31",
        "mcp-server-memory",
        environment={"MEMORY_FILE_PATH": "{world}/memory.jsonl"},
        question="create entities in the knowledge graph",
        example=Example(
            "create_entities",
            {"entities": [{"name": "heron", "entityType": "bird", "observations": ["stands"]}]},
            "heron",
        ),
    ),
    npm(
        "sequential-thinking",
        "@modelcontextprotocol/server-sequential-thinking",
        "2026.8.31",
        "mcp-server-sequential-thinking",
        question="think step by step through a problem",
        example=Example(
            "sequentialthinking",
            {
                "thought": "It stands.",
                "nextThoughtNeeded": False,
                "thoughtNumber": 1,
                "totalThoughts": 1,
            },
            "thoughtHistoryLength",
        ),
    ),
    npm(
        "eslint",
        "@eslint/mcp",
        "0.3.13",
        "mcp",
        question="lint JavaScript files with ESLint",
        example=Example("lint-files", {"filePaths": ["{world}/heron.js"]}, "no-unused-vars"),
    ),
    npm(
        "git-cyanheads",
        "@cyanheads/git-mcp-server",
        "2.15.3",
        "git-mcp-server",
        environment={"MCP_TRANSPORT_TYPE": "stdio"},
        question="view commit history filtered by author or date range",
        example=Example("git_log", {"path": "{world}/repository"}, "The heron arrives"),
    ),
    npm(
        "antv-chart",
        "@antv/mcp-server-chart",
        "0.9.10",
        "mcp-server-chart",
        environment={"VIS_REQUEST_SERVER": "{outside}/chart"},
        question="draw a pie chart",
        example=Example(
            "generate_pie_chart",
            {"data": [{"category": "herons", "value": 42}]},
            "/charts/heron.png",
        ),
    ),
    npm(
        "notion",
        "@notionhq/notion-mcp-server",
        "2.5.2",
        "notion-mcp-server",
        environment={"NOTION_TOKEN": "not-a-token", "BASE_URL": "{outside}"},
        question="Notion: retrieve your token's bot user",
        example=Example("API-get-self", {}, "heron-bot"),
    ),
    npm(
        "gitlab",
        "@modelcontextprotocol/server-gitlab",
        "2025.4.25",
        "mcp-server-gitlab",
        environment={
            "GITLAB_PERSONAL_ACCESS_TOKEN": "not-a-token",
            "GITLAB_API_URL": "{outside}/api/v4",
        },
        question="search for GitLab projects",
        example=Example("search_repositories", {"search": "heron"}, "birds/heron"),
    ),
    npm(
        "github",
        "@modelcontextprotocol/server-github",
        "2025.4.8",
        "mcp-server-github",
        environment={**NO_NETWORK, "GITHUB_PERSONAL_ACCESS_TOKEN": "not-a-token"},
        question="search for GitHub repositories",
        example=Example("search_repositories", {"query": "heron"}, "fetch failed", fails=True),
    ),
    npm(
        "slack",
        "@modelcontextprotocol/server-slack",
        "2025.4.25",
        "mcp-server-slack",
        environment={**NO_NETWORK, "SLACK_BOT_TOKEN": "not-a-token", "SLACK_TEAM_ID": "T0"},
        question="list channels of the Slack workspace",
        example=Example("slack_list_channels", {}, "fetch failed"),
    ),
    npm(
        "brave-search",
        "@modelcontextprotocol/server-brave-search",
        "0.6.2",
        "mcp-server-brave-search",
        environment={**NO_NETWORK, "BRAVE_API_KEY": "not-a-key"},
        question="search the web with Brave",
        example=Example("brave_web_search", {"query": "heron"}, "fetch failed", fails=True),
    ),
    npm(
        "google-maps",
        "@modelcontextprotocol/server-google-maps",
        "0.6.2",
        "mcp-server-google-maps",
        environment={**NO_NETWORK, "GOOGLE_MAPS_API_KEY": "not-a-key"},
        question="convert an address into coordinates on the map",
        example=Example("maps_geocode", {"address": "Reed Street"}, "failed, reason", fails=True),
    ),
    npm(
        "airtable",
        "airtable-mcp-server",
        "1.14.0",
        "airtable-mcp-server",
        environment={**NO_NETWORK, "AIRTABLE_API_KEY": "not-a-key"},
        question="list Airtable bases",
        example=Example("list_bases", {}, "fetch failed", fails=True),
    ),
    pypi(
        "time",
        Shelf.MODERN,
        "mcp-server-time==2026.10.19",
        "mcp-server-time",
        arguments=("--local-timezone", "UTC"),
        question="convert time between timezones",
        example=Example(
            "convert_time",
            {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
            "21:00:00+09:00",
        ),
    ),
    pypi(
        "fetch",
        Shelf.MODERN,
        "mcp-server-fetch==2026.10.24",
        "mcp-server-fetch",
        # Its launch names the address, or its box would not let it there.
        arguments=(
            *("--allow-private-ips", "--ignore-robots-txt"),
            *("--user-agent", "herons/1.0 {outside}"),
        ),
        question="fetch a web page as markdown",
        example=Example("fetch", {"url": "{outside}/page", "raw": True}, "The heron stands"),
    ),
    pypi(
        "git",
        Shelf.MODERN,
        "mcp-server-git==2026.10.19",
        "mcp-server-git",
        question="commit log of a git repository",
        example=Example("git_log", {"repo_path": "{world}/repository"}, "The heron arrives"),
    ),
    pypi(
        "word",
        Shelf.MODERN,
        "office-word-mcp-server==1.1.11",
        "word_mcp_server",
        question="create a Word document",
        example=Example(
            "create_document",
            {"filename": "{world}/heron.docx", "title": "Herons"},
            "created successfully",
        ),
    ),
    pypi(
        "excel",
        Shelf.MODERN,
        "excel-mcp-server==2.2.2",
        "excel-mcp-server",
        arguments=("stdio",),
        question="create an Excel workbook",
        example=Example(
            "create_workbook", {"path": "{world}/heron.xlsx", "overwrite": True}, "heron.xlsx"
        ),
    ),
    pypi(
        "duckdb",
        Shelf.MODERN,
        "mcp-server-motherduck==1.1.0",
        "mcp-server-motherduck",
        arguments=("--db-path", ":memory:", "--read-write"),
        question="execute a SQL query with DuckDB",
        example=Example("execute_query", {"sql": "select 19 + 23 as answer"}, "42"),
    ),
    pypi(
        "nixos",
        Shelf.MODERN,
        "mcp-nixos==3.1.0",
        "mcp-nixos",
        environment=NO_NETWORK,
        question="search NixOS packages and options",
        example=Example("nix", {"action": "search", "query": "heron"}, "API error"),
    ),
    pypi(
        "aws-docs",
        Shelf.MODERN,
        "awslabs.aws-documentation-mcp-server==1.2.3",
        "awslabs.aws-documentation-mcp-server",
        environment={**NO_NETWORK, "FASTMCP_LOG_LEVEL": "ERROR"},
        question="read a page of the AWS documentation",
        example=Example(
            "read_documentation",
            {"url": "https://herons.invalid/page.html"},
            "supported domains",
            fails=True,
        ),
    ),
    pypi(
        "sqlite",
        Shelf.LEGACY,
        "mcp-server-sqlite==2025.4.25",
        "mcp-server-sqlite",
        arguments=("--db-path", "{world}/herons.sqlite"),
        question="execute a SELECT query on the SQLite database",
        example=Example("read_query", {"query": "SELECT 19 + 23 AS answer"}, "42"),
    ),
    pypi(
        "obsidian",
        Shelf.LEGACY,
        "mcp-obsidian==0.2.3",
        "mcp-obsidian",
        environment={
            "OBSIDIAN_API_KEY": "not-a-key",
            "OBSIDIAN_PROTOCOL": "http",
            "OBSIDIAN_HOST": "127.0.0.1",
            "OBSIDIAN_PORT": "{port}",
        },
        question="list files in the Obsidian vault",
        example=Example("obsidian_list_files_in_vault", {}, "heron.md"),
    ),
    pypi(
        "powerpoint",
        Shelf.LEGACY,
        "office-powerpoint-mcp-server==2.0.7",
        "ppt_mcp_server",
        question="create a new PowerPoint presentation",
        example=Example("create_presentation", {"id": "herons"}, "slide_count"),
    ),
    pypi(
        "tree-sitter",
        Shelf.LEGACY,
        "mcp-server-tree-sitter==0.7.0",
        "mcp-server-tree-sitter",
        question="list the languages that can be parsed",
        example=Example("list_languages", {}, "javascript"),
    ),
    pypi(
        "arxiv",
        Shelf.LEGACY,
        "arxiv-mcp-server==0.8.2",
        "arxiv-mcp-server",
        arguments=("--storage-path", "{world}/papers"),
        question="list downloaded arXiv papers",
        example=Example("list_papers", {}, "total_papers"),
    ),
    pypi(
        "calculator",
        Shelf.OLDEST,
        "mcp-server-calculator==0.2.1",
        "mcp-server-calculator",
        question="calculate an arithmetic expression",
        example=Example("calculate", {"expression": "19 + 23"}, "42"),
    ),
)

GATE: Final = Shelf.OLDEST
"""The smallest shelf."""

each_server = pytest.mark.parametrize(
    "server",
    [
        pytest.param(
            server, id=server.name, marks=() if server.shelf is GATE else pytest.mark.nightly
        )
        for server in SERVERS
    ],
)


def chosen(config: pytest.Config) -> tuple[list[Shelf], list[RealServer]]:
    """What this run installs: one small shelf for the gate, everything for the nightly run."""
    shelves = list(Shelf) if config.getoption("--nightly") else [GATE]
    return shelves, [server for server in SERVERS if server.shelf in shelves]
