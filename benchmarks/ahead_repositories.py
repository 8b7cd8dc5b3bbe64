"""Work on repositories and their code."""

import re
from random import Random

from benchmarks.ahead_work import Task, Template, Work, code, files, git, now_and_then
from benchmarks.ahead_world import ADJECTIVES, NOUNS, World


def _commits(text: str) -> list[tuple[str, str]]:
    """The hash and the message of each."""
    hashes = re.findall(r"^Commit: '?(\w+)'?", text, re.MULTILINE)
    messages = re.findall(r"^Message: '?(.*?)'?$", text, re.MULTILINE)
    return list(zip(hashes, messages, strict=False))


def _changed(text: str) -> list[str]:
    return re.findall(r"^\+\+\+ b/(\S+)", text, re.MULTILINE)


def working_copy(world: World, chance: Random) -> Task:
    path = chance.choice(world.repositories).path
    wish = chance.choice([f"What did I change in {path}?", f"Review my working copy at {path}"])

    def work() -> Work:
        yield git("git_status", path)
        yield git("git_diff_unstaged", path)
        yield from now_and_then(chance, 0.6, git("git_diff_staged", path))
        yield from now_and_then(chance, 0.4, git("git_log", path, max_count=5))

    return Task(wish, chance.choice(["uncommitted changes", "git status and diff"]), work())


def explain_commit(world: World, chance: Random) -> Task:
    repository = chance.choice(world.repositories)
    path, latest = repository.path, chance.random() < 0.5
    told = chance.choice(repository.messages[-6:])
    wish = (
        f"Explain the latest commit of {path}"
        if latest
        else f"In {path}, what exactly did the commit '{told}' change?"
    )

    def work() -> Work:
        text = yield git("git_log", path, max_count=chance.choice([10, 10, 10, 20]))
        commits = _commits(text)
        named = [one for one, message in commits if message == told]
        wanted = commits[0][0] if latest or not named else named[0]
        changed = _changed((yield git("git_show", path, revision=wanted)))
        if changed:
            yield from now_and_then(chance, 0.6, files("read_text_file", f"{path}/{changed[0]}"))
        yield from now_and_then(chance, 0.2, git("git_diff", path, target=wanted))

    return Task(wish, chance.choice(["show a commit", "git history"]), work())


def branch_distance(world: World, chance: Random) -> Task:
    repository = chance.choice(world.repositories)
    path, branch = repository.path, chance.choice(repository.branches)
    wish = chance.choice(
        [f"How far is {branch} from main in {path}?", f"How do the branches of {path} differ?"]
    )

    def work() -> Work:
        yield git("git_branch", path, branch_type="local" if chance.random() < 0.7 else "all")
        yield git("git_diff", path, target=branch)
        yield from now_and_then(chance, 0.4, git("git_show", path, revision=branch))

    return Task(wish, chance.choice(["list branches", "compare branches"]), work())


def fix_and_commit(world: World, chance: Random) -> Task:
    repository = chance.choice(world.repositories)
    path, name = repository.path, chance.choice(repository.files)
    value = chance.randint(1, 999)
    message = f"tune {chance.choice(ADJECTIVES)} {chance.choice(NOUNS)}"
    wish = f"Set limit to {value} in {name} of {path} and commit it as '{message}'"

    def work() -> Work:
        text = yield files("read_text_file", f"{path}/{name}")
        line = text.strip().split("\n")[-1]
        new = {"oldText": line, "newText": f"limit = {value}"}
        yield files("edit_file", f"{path}/{name}", edits=[new])
        yield from now_and_then(chance, 0.7, git("git_diff_unstaged", path))
        yield git("git_add", path, files=[name])
        yield from now_and_then(chance, 0.4, git("git_status", path))
        yield git("git_commit", path, message=message)
        yield from now_and_then(chance, 0.5, git("git_log", path, max_count=1))

    return Task(wish, chance.choice(["edit a file and commit it", "git commit"]), work())


def recent_days(world: World, chance: Random) -> Task:
    path, count = chance.choice(world.repositories).path, chance.choice([3, 5])
    wish = chance.choice(
        [f"What happened lately in {path}?", f"Go through the last {count} commits of {path}"]
    )

    def work() -> Work:
        yield from now_and_then(chance, 0.4, git("git_status", path))
        commits = _commits((yield git("git_log", path, max_count=count)))
        for each, _ in commits[: chance.randint(2, count)]:
            yield git("git_show", path, revision=each)

    return Task(wish, chance.choice(["git history", "show commits"]), work())


def new_branch(world: World, chance: Random) -> Task:
    path = chance.choice(world.repositories).path
    name = f"feature/{chance.choice(NOUNS)}-{chance.randint(100, 9999)}"
    wish = f"Begin a branch {name} in {path}"

    def work() -> Work:
        yield git("git_status", path)
        yield from now_and_then(chance, 0.6, git("git_branch", path, branch_type="local"))
        yield git("git_create_branch", path, branch_name=name)
        yield from now_and_then(chance, 0.6, git("git_branch", path, branch_type="local"))

    return Task(wish, chance.choice(["create a branch", "git branches"]), work())


def where_set(world: World, chance: Random) -> Task:
    repository, word = chance.choice(world.repositories), chance.choice(NOUNS)
    name = repository.name
    wish = chance.choice(
        [f"Where is {word} set in {name}?", f"Look for {word} in the code of {name}"]
    )

    def work() -> Work:
        yield from now_and_then(chance, 0.5, code("list_projects_tool"))
        text = yield code("find_text", project=name, pattern=word)
        found = re.findall(r'"file": "([^"]+)"', text) or [chance.choice(repository.files)]
        for each in list(dict.fromkeys(found))[:2]:
            yield code("get_file", project=name, path=each)

    return Task(wish, chance.choice(["find text in code", "search source code"]), work())


def outline(world: World, chance: Random) -> Task:
    name = chance.choice(world.repositories).name
    wish = chance.choice([f"Give me an outline of {name}", f"Which files make up {name}?"])

    def work() -> Work:
        yield from now_and_then(chance, 0.5, code("list_projects_tool"))
        text = yield code("list_files", project=name, pattern="**/*.py")
        found = re.findall(r"src/\S+?\.py", text)
        for each in found[: chance.randint(1, 3)]:
            yield code("get_file_metadata", project=name, path=each)
        yield from now_and_then(chance, 0.6, code("get_file", project=name, path=found[0]))

    return Task(wish, chance.choice(["list files of a project", "outline of source code"]), work())


def code_and_history(world: World, chance: Random) -> Task:
    repository, word = chance.choice(world.repositories), chance.choice(NOUNS)
    name, path = repository.name, repository.path
    wish = f"Who touched {word} in {name} last, and how?"

    def work() -> Work:
        text = yield code("find_text", project=name, pattern=word, file_pattern="**/*.py")
        found = re.findall(r'"file": "([^"]+)"', text)
        if found:
            yield files("read_text_file", f"{path}/{found[0]}")
        commits = _commits((yield git("git_log", path, max_count=10)))
        yield git("git_show", path, revision=commits[0][0])

    return Task(wish, chance.choice(["find text in code", "history of a line"]), work())


def ready_to_release(world: World, chance: Random) -> Task:
    repository = chance.choice(world.repositories)
    path, name = repository.path, repository.name
    wish = chance.choice(
        [f"Is {path} ready for a release?", f"Look over {name} before its release"]
    )

    def work() -> Work:
        yield git("git_status", path)
        yield git("git_log", path, max_count=10)
        yield git("git_branch", path, branch_type="local")
        yield from now_and_then(chance, 0.7, code("list_files", project=name, pattern="**/*.py"))
        yield from now_and_then(chance, 0.7, files("read_text_file", f"{path}/src/settings.py"))

    return Task(wish, chance.choice(["git status", "check a repository"]), work())


TEMPLATES: tuple[Template, ...] = (
    working_copy,
    explain_commit,
    branch_distance,
    fix_and_commit,
    recent_days,
    new_branch,
    where_set,
    outline,
    code_and_history,
    ready_to_release,
)
