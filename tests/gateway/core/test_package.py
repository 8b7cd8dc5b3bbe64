"""Which package a command runs, if nothing else could be run by it."""

from portico.gateway.core.package import Package, package_of
from portico.gateway.core.server import FromEnvironment, Http, Plain, Stdio


def launch(line: str, **environment: str) -> Stdio:
    command, *arguments = line.split()
    given = {name: Plain(value) for name, value in environment.items()}
    return Stdio(command, tuple(map(Plain, arguments)), given)


def test_a_launcher_names_its_package() -> None:
    rows: list[tuple[str, Package]] = [
        ("npx -y @scope/server-github", Package("npm", "@scope/server-github")),
        ("npx --yes @scope/server@2025.4.8 /data", Package("npm", "@scope/server", "2025.4.8")),
        ("/usr/bin/npx tavily-mcp@0.2.22", Package("npm", "tavily-mcp", "0.2.22")),
        ("bunx server", Package("npm", "server")),
        ("pnpm dlx server", Package("npm", "server")),
        ("uvx mcp-server-git --repository x", Package("pypi", "mcp-server-git")),
        ("uvx mcp-server-git==2026.10.19", Package("pypi", "mcp-server-git", "2026.10.19")),
        ("uvx mcp-server-git@2026.10.19", Package("pypi", "mcp-server-git", "2026.10.19")),
        ("uv tool run mcp-server-time", Package("pypi", "mcp-server-time")),
        ("pipx run mcp-server-time", Package("pypi", "mcp-server-time")),
    ]

    for line, package in rows:
        assert package_of(launch(line)) == package


def test_whatever_could_run_something_else_is_not_taken_for_a_package() -> None:
    rows: list[str] = [
        "npx",
        "npx -y",
        "npx -p evil server",
        "npx --registry=https://example.com server",
        "npx server@latest",
        "npx git+https://example.com/x",
        "npx ./here",
        "uvx --from evil mcp-server-git",
        "uvx --with evil mcp-server-git",
        "uvx mcp-server-git>=1",
        "uv run server",
        "python -m server",
        "docker run image",
        "node server.js",
    ]

    for line in rows:
        assert package_of(launch(line)) is None


def test_a_variable_that_decides_which_code_runs_makes_it_any_package() -> None:
    assert package_of(launch("npx server", TOKEN="x")) == Package("npm", "server")
    assert package_of(launch("npx server", NODE_OPTIONS="-r evil")) is None
    assert package_of(launch("npx server", npm_config_registry="https://example.com")) is None


def test_an_argument_from_elsewhere_ends_what_is_known() -> None:
    assert package_of(Stdio("npx", (FromEnvironment("SERVER"),))) is None
    assert package_of(Http("https://example.com")) is None


def test_a_package_is_told_with_its_version() -> None:
    assert str(Package("npm", "server", "1.0")) == "server 1.0"
    assert str(Package("npm", "server")) == "server"
