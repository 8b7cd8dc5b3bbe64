# Portico's recipes. First time here: `just setup` (or, without just: `bash .ci/setup`).

export PATH := justfile_directory() / ".venv/bin:" + env("PATH")
export PYTHONPATH := justfile_directory()

# list the recipes
default:
    @just --list --unsorted

# make .venv with everything from the lock; as root also the account that the database runs as
setup:
    bash .ci/setup

# format, and mend what can be mended
fmt:
    ruff format
    ruff check --fix

# the inner loop, under a minute: format, lint, import contracts, types, the kernel and the cores
check:
    ruff format --check
    ruff check
    lint-imports --no-logo
    ty check
    mypy
    pytest -n 2 --dist loadscope --hypothesis-profile=quick tests/kernel tests/*/core

# the gate's tests: real PostgreSQL, real servers, small storms; --nightly adds the others
test *arguments:
    pytest -n 2 --dist loadscope --no-loadscope-reorder {{ arguments }}

# kernel and cores: every branch
coverage *arguments:
    coverage erase
    coverage run --rcfile=.ci/coverage-cores.toml -m pytest -n 2 --dist loadscope {{ arguments }} tests/kernel tests/guard tests/sandbox tests/engine tests/gateway tests/workflows tests/learning tests/agents tests/bridge tests/debate
    bash .ci/branches

# a part of the nightly run, or all that are due; --list shows them
nightly *parts="--due":
    bash .ci/nightly {{ parts }}

# what the source weighs beside its budget; --installed also measures an installation
size *arguments:
    python .ci/size.py {{ arguments }}

# generate the reference and build the site; fails on what is stale
docs:
    python docs/generate.py
    zensical build --clean --strict
    python docs/generate.py --beside site

# run the server
serve *arguments:
    portico serve {{ arguments }}

# measure: just bench start --json; `benchmarks/requirements.txt` has what some need
bench *arguments:
    python -m benchmarks {{ arguments }}

# measure some anew, and write the page of benchmarks: just benchmarks start call
benchmarks *names:
    for name in {{ names }}; do python -m benchmarks "$name" --json > "build-$name.json" && mv "build-$name.json" "docs/benchmarks/$name.json" || exit; done
    python docs/generate.py

# pictures of every screen in both themes, into build/screenshots or the folder that is named
screenshots *arguments:
    python -m tests.pictures {{ arguments }}

# write anew what programs and people see: screens, listings of MCP, the overview of commands
snapshots:
    python -m tests.snapshots.write

# resolve the dependencies again and pin them by hash, naming no registry
lock:
    uv pip compile -q --universal --generate-hashes --no-emit-index-url --python-version 3.11 pyproject.toml -o requirements/run.txt
    uv pip compile -q --universal --generate-hashes --no-emit-index-url --python-version 3.11 pyproject.toml --extra otel --extra embeddings -o requirements/image.txt
    uv pip compile -q --universal --generate-hashes --no-emit-index-url --python-version 3.11 --group build -o requirements/build.txt
    uv pip compile -q --universal --generate-hashes --no-emit-index-url --python-version 3.11 pyproject.toml --group dev -o requirements/dev.txt
    python -m tests.real_servers.lock

# after a new migration: write schema.sql and the database fixture of this version
fixture:
    python -m tests.migrations.fixture
    pytest tests/migrations --write-schema -k the_committed_schema

# build the wheel and the sdist; the same bytes for the same commit, wherever it is done
build:
    SOURCE_DATE_EPOCH="$(git log -1 --format=%ct 2>/dev/null || echo 1580601600)" python -m build --no-isolation

# known vulnerabilities of what is locked; needs a source of advisories that can be reached
audit *locks:
    python .ci/audit.py {{ locks }}

# all that must hold before a version is given out; nothing is given out by it
release:
    python .ci/release.py
    bash .ci/run
    just audit
    rm -rf dist
    just build
    python .ci/release.py dist

# run the hooks before each commit
hooks:
    prek install
