"""Work on folders and documents."""

import re
from pathlib import Path
from random import Random

from benchmarks.ahead_work import Ask, Task, Template, Work, files, now_and_then
from benchmarks.ahead_world import ENDINGS, World

_OPEN = "read_text_file"


def _folder(world: World, chance: Random) -> tuple[str, str, bool]:
    """A folder, what a person calls it, and whether they said where it is."""
    folder = chance.choice(list(world.folders))
    told = chance.random() >= 0.3  # three of ten say it vaguely
    path = Path(folder)
    return folder, folder if told else f"the {path.name} folder of {path.parent.name}", told


def _document(world: World, chance: Random, *endings: str) -> str:
    paths = [
        f"{folder}/{name}"
        for folder, names in world.folders.items()
        for name in names
        if name.rsplit(".", 1)[-1] in (endings or ENDINGS)
    ]
    return chance.choice(paths)


def _listed(text: str) -> list[str]:
    return [line.removeprefix("[FILE] ") for line in text.split("\n") if line.startswith("[FILE]")]


def read_some(world: World, chance: Random) -> Task:
    folder, where, told = _folder(world, chance)
    ending = chance.choice(sorted({name.rsplit(".", 1)[-1] for name in world.folders[folder]}))
    wish = chance.choice(
        [
            f"Read the .{ending} files in {where} and summarise them",
            f"What do the {ending} documents under {where} say?",
            f"Go through {where}, only *.{ending}, and give me the key points",
        ]
    )

    def work() -> Work:
        if not told:
            yield files("list_directory", str(Path(folder).parent))
        found = _listed((yield files("list_directory", folder)))
        wanted = [name for name in found if name.endswith(f".{ending}")]
        if chance.random() < 0.25:
            chance.shuffle(wanted)
        for name in wanted[: chance.randint(1, 4)]:
            head = {"head": chance.choice([20, 50])} if chance.random() < 0.15 else {}
            yield files(_OPEN, f"{folder}/{name}", **head)
        yield from now_and_then(chance, 0.25, files("get_file_info", f"{folder}/{wanted[0]}"))

    return Task(wish, chance.choice(["read text files of a folder", "list a directory"]), work())


def search_and_open(world: World, chance: Random) -> Task:
    folder, _, _ = _folder(world, chance)
    above = str(Path(folder).parent)
    word = re.split(r"[_\d.]", chance.choice(world.folders[folder]))[1]
    wish = chance.choice(
        [
            f"Find the {word} files in {above} and open the relevant ones",
            f"Search {above} for anything about {word}",
        ]
    )

    def work() -> Work:
        pattern = f"**/*{word}*" if chance.random() < 0.8 else f"*{word}*"
        found = (yield files("search_files", above, pattern=pattern)).split("\n")
        paths = [line for line in found if line.startswith("/")]
        if chance.random() < 0.3:
            chance.shuffle(paths)
        for path in paths[: chance.randint(1, 3)]:
            yield files(_OPEN, path)
        if paths:
            yield from now_and_then(chance, 0.35, files("get_file_info", paths[0]))

    return Task(wish, chance.choice(["search files by name", "find files and read them"]), work())


def largest(world: World, chance: Random) -> Task:
    folder, where, _ = _folder(world, chance)
    wish = chance.choice(
        [f"What takes the space in {where}?", f"Look at the biggest file of {where}"]
    )

    def work() -> Work:
        yield from now_and_then(chance, 0.6, files("directory_tree", str(Path(folder).parent)))
        text = yield files("list_directory_with_sizes", folder, sortBy="size")
        names = re.findall(r"^\[FILE\] (\S+)", text, re.MULTILINE)
        yield files("get_file_info", f"{folder}/{names[0]}")
        yield files(_OPEN, f"{folder}/{names[0]}", head=chance.choice([20, 20, 50]))

    return Task(wish, chance.choice(["sizes of files", "list a folder with sizes"]), work())


def compare(world: World, chance: Random) -> Task:
    folder, where, told = _folder(world, chance)
    wish = chance.choice(
        [f"Compare the documents in {where}", f"How do the files of {where} differ?"]
    )

    def work() -> Work:
        if not told:
            yield Ask("filesystem", "list_allowed_directories")
            yield files("list_directory", world.root)
            yield files("list_directory", str(Path(folder).parent))
        found = _listed((yield files("list_directory", folder)))
        some = found if chance.random() < 0.6 else chance.sample(found, min(len(found), 3))
        yield Ask("filesystem", "read_multiple_files", {"paths": [f"{folder}/{n}" for n in some]})

    return Task(wish, chance.choice(["read several files at once", "compare documents"]), work())


def mistyped(world: World, chance: Random) -> Task:
    path = _document(world, chance)
    above, name = path.rsplit("/", 1)
    wrong = f"{above}/{name.replace('_', '-', 1)}"
    wish = chance.choice([f"Open {wrong}", f"Please read {wrong} for me"])

    def work() -> Work:
        yield files(_OPEN, wrong)
        yield files("list_directory", above)
        yield files(_OPEN, path)

    return Task(wish, "read a text file", work())


def follow(world: World, chance: Random) -> Task:
    path = _document(world, chance, "md", "txt", "yaml")
    wish = chance.choice(
        [f"Read {path} and what it refers to", f"Follow the references that start at {path}"]
    )

    def work() -> Work:
        here = path
        for _ in range(chance.randint(2, 4)):
            named = re.findall(r"are in (/\S+?),", (yield files(_OPEN, here)))
            if not named:
                return
            here = named[0]

    return Task(wish, "read a text file", work())


def correct(world: World, chance: Random) -> Task:
    path = _document(world, chance, "md", "txt")
    wish = chance.choice([f"Sign {path} off", f"Mark {path} as checked"])
    edit = [{"oldText": "as agreed", "newText": "as agreed"}]

    def work() -> Work:
        yield from now_and_then(chance, 0.5, files("get_file_info", path))
        yield files(_OPEN, path)
        yield from now_and_then(chance, 0.6, files("edit_file", path, edits=edit, dryRun=True))
        yield files("edit_file", path, edits=edit)
        yield from now_and_then(chance, 0.7, files(_OPEN, path, tail=5))

    return Task(wish, chance.choice(["edit a file", "change a line of a document"]), work())


def summarise(world: World, chance: Random) -> Task:
    folder, where, told = _folder(world, chance)
    wish = chance.choice([f"Write a summary of {where}", f"Sum {where} up in a file of its own"])

    def work() -> Work:
        if not told:
            yield files("list_directory", str(Path(folder).parent))
        found = [n for n in _listed((yield files("list_directory", folder))) if n != "SUMMARY.md"]
        for name in found[: chance.randint(2, 3)]:
            yield files(_OPEN, f"{folder}/{name}")
        words = f"{len(found)} documents, {chance.randint(2, 9)} of them short."
        yield files("write_file", f"{folder}/SUMMARY.md", content=words)
        yield from now_and_then(chance, 0.5, files(_OPEN, f"{folder}/SUMMARY.md"))

    return Task(wish, chance.choice(["write a file", "read files and write a summary"]), work())


def put_away(world: World, chance: Random) -> Task:
    folder, where, _ = _folder(world, chance)
    month = f"2026-{chance.randint(1, 12):02}"
    wish = f"Put the summary of {where} away under {month}"

    def work() -> Work:
        yield files("list_directory", folder)
        yield files("create_directory", f"{folder}/{month}")
        kept = {"path": f"{folder}/SUMMARY.md", "content": f"Of {month}."}
        yield Ask("filesystem", "write_file", kept)
        moved = {
            "source": f"{folder}/SUMMARY.md",
            "destination": f"{folder}/{month}/{chance.randint(1, 999)}.md",
        }
        yield Ask("filesystem", "move_file", moved)
        yield from now_and_then(chance, 0.7, files("list_directory", f"{folder}/{month}"))

    return Task(wish, chance.choice(["move a file", "create a directory"]), work())


def all_settings(world: World, chance: Random) -> Task:
    above = str(Path(chance.choice(list(world.folders))).parent)
    wish = chance.choice(
        [f"Which settings are there in {above}?", f"Check all settings of {above}"]
    )

    def work() -> Work:
        found = (yield files("search_files", above, pattern="**/*.json")).split("\n")
        paths = [line for line in found if line.startswith("/")]
        if chance.random() < 0.5:
            yield Ask("filesystem", "read_multiple_files", {"paths": paths})
        else:
            for path in paths[: chance.randint(2, 4)]:
                yield files(_OPEN, path)

    return Task(wish, chance.choice(["search files by name", "read several files at once"]), work())


def look_twice(world: World, chance: Random) -> Task:
    path = _document(world, chance, "md", "txt", "csv")
    wish = chance.choice(
        [f"How old is {path}, and what is at its end?", f"The last lines of {path}"]
    )

    def work() -> Work:
        yield files("get_file_info", path)
        yield files(_OPEN, path, tail=10)
        yield from now_and_then(chance, 0.4, files(_OPEN, path))
        yield from now_and_then(chance, 0.3, files("list_directory", str(Path(path).parent)))

    return Task(wish, chance.choice(["file metadata", "last lines of a file"]), work())


TEMPLATES: tuple[Template, ...] = (
    read_some,
    search_and_open,
    largest,
    compare,
    mistyped,
    follow,
    correct,
    summarise,
    put_away,
    all_settings,
    look_twice,
)
