"""How an argument can be got from what a task has seen, and every way to explain one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.kernel.json import JsonObject, JsonValue
from portico.learning.core.argument_derivations import (
    CHOICES,
    LISTS,
    Derivation,
    Filled,
    Fixed,
    ValueDerivation,
    derive,
    explained,
    read,
    written,
)
from portico.learning.core.observed_calls import (
    WORDS,
    ObservedCall,
    RecentCalls,
    View,
    all_changed,
    changed,
    place_text,
)
from tests.learning.core.prefetch.tasks import LIST, QUERY, READ, call, text, values, window

LISTED = call(LIST, {"path": "/home/x"}, text("[FILE] a.txt\n[FILE] b.md\n[FILE] c.md"))
AT_LIST = place_text(LIST)
NAME = "text|[FILE]|1"


def names(choice: str, *calls: ObservedCall, words: str = "") -> JsonValue:
    view = View(window(LISTED, *calls, words=words))
    return derive(view, ValueDerivation(AT_LIST, NAME, "under", "p", choice))


def ways(value: JsonValue, *calls: ObservedCall, words: str = "") -> set[Derivation]:
    view = View(window(*calls, words=words))
    return set(explained(view, value, frozenset()))


def test_a_value_is_changed_on_its_way() -> None:
    rows: list[tuple[str | int, str, str | None, str | int | None]] = [
        ("/a/b/c.txt", "", None, "/a/b/c.txt"),
        ("/a/b/c.txt", "folder", None, "/a/b"),
        ("/a", "folder", None, None),
        ("/a/b/c.txt", "above", None, "/a"),
        ("word", "above", None, None),
        ("/a/b/", "name", None, "b"),
        ("word", "name", None, None),
        ("/a/b/c.txt", "stem", None, "c"),
        ("c", "stem", None, None),
        ("a/src/x.py", "side", None, "src/x.py"),
        ("src/x.py", "side", None, None),
        ("x.py", "under", "/a/", "/a/x.py"),
        ("b/./x.py", "under", "/a", "/a/x.py"),
        ("/x.py", "under", "/a", None),
        ("x.py", "under", None, None),
        ("/a/x.py", "within", "/a", "x.py"),
        ("/b/x.py", "within", "/a", None),
        ("/a/", "within", "/a", None),
        ("/a/", "within", None, None),
        ("12", "number", None, 12),
        ("12a", "number", None, None),
        ("Ada", "lower", None, "ada"),
        ("ada", "lower", None, None),
        ("ticket", "plural", None, "tickets"),
        ("tickets", "plural", None, None),
        ("Ada", "plural", None, None),
        (5, "", None, 5),
        (5, "text", None, "5"),
        (5, "folder", None, None),
        ("x", "unheard of", None, None),
    ]

    for value, change, base, became in rows:
        assert changed(value, change, base) == became


def test_all_that_a_value_can_become_is_told() -> None:
    assert dict(all_changed(7, None)) == {"": 7, "text": "7"}
    assert dict(all_changed("Ab", "/x")) == {"": "Ab", "under": "/x/Ab", "lower": "ab"}


def test_one_of_several_is_chosen() -> None:
    second = call(READ, {"path": "/home/x/b.md"})

    assert names("first") == "/home/x/a.txt"
    assert names("second") == "/home/x/b.md"
    assert names("third") == "/home/x/c.md"
    assert names("last") == "/home/x/c.md"
    assert names("only") is None
    assert names("next") is None
    assert names("next", second) == "/home/x/c.md"
    assert names("next", second, call(READ, {"path": "/home/x/c.md"})) is None
    assert names("fresh", call(READ, {"path": "/home/x/a.txt"})) == "/home/x/b.md"
    assert names("wanted") is None
    assert names("wanted", words="the one about c") is None
    assert names("wanted", words="open the md") == "/home/x/b.md"
    assert names("echoed", call(QUERY, {"about": "md", "most": 5})) == "/home/x/b.md"
    assert names("unheard of") is None


def test_of_one_alone_there_is_no_second() -> None:
    view = View(window(call(LIST, {}, values({"id": "abc"}))))

    found = {
        choice: derive(view, ValueDerivation(AT_LIST, "json.id", "", "w", choice))
        for choice in CHOICES
    }

    assert {choice for choice, value in found.items() if value} == {"only", "first", "fresh"}


def test_several_are_chosen_together() -> None:
    everything = ["/home/x/a.txt", "/home/x/b.md", "/home/x/c.md"]

    assert names("[all]") == everything
    assert names("[two]") == everything[:2]
    assert names("[three]") is None
    assert names("[wanted]", words="all the md") == everything[1:]
    assert names("[first]") == everything[:1]
    assert names("[only]") is None
    assert "[beside]" in LISTS


def test_four_have_a_first_three() -> None:
    view = View(window(call(LIST, {}, values([1, 2, 3, 4]))))

    assert derive(view, ValueDerivation(AT_LIST, "json[0]", "", "n", "[three]")) == [1, 2, 3]


def test_what_stands_beside_a_value_in_hand_is_chosen() -> None:
    people = [{"who": "ada", "on": "krill"}, {"who": "bob", "on": "lotus"}]
    people += [{"who": "ada", "on": "lotus"}]
    view = View(window(call(QUERY, {"project": "lotus"}), call(LIST, {}, values({"all": people}))))

    assert derive(view, ValueDerivation(AT_LIST, "json.all[0].who", "", "w", "beside")) == "ada"
    assert derive(view, ValueDerivation(AT_LIST, "json.all[0].who", "", "w", "[beside]")) == [
        "ada",
        "bob",
    ]


def test_only_values_of_the_same_sort_are_chosen_from() -> None:
    view = View(window(call(LIST, {}, text("it is in the box\nit is in /home/x"))))

    assert derive(view, ValueDerivation(AT_LIST, "text<in", "", "p", "first")) == "/home/x"
    assert derive(view, ValueDerivation(AT_LIST, "text<in", "", "w", "first")) == "the"


def test_the_first_call_of_a_tool_is_still_there_after_a_later_one() -> None:
    view = View(
        window(call(LIST, {}, values({"id": "one"})), call(LIST, {}, values({"id": "two"})))
    )

    assert derive(view, ValueDerivation(AT_LIST, "json.id", "", "w", "first")) == "two"
    assert derive(view, ValueDerivation(f"{AT_LIST}^", "json.id", "", "w", "first")) == "one"
    assert derive(view, ValueDerivation("nobody", "json.id", "", "w", "first")) is None
    assert derive(view, ValueDerivation(AT_LIST, "json.no", "", "w", "first")) is None


def test_a_text_is_filled_with_values() -> None:
    view = View(window(LISTED))
    name = ValueDerivation(AT_LIST, NAME, "", "w", "first")

    assert derive(view, Filled(("SELECT ", " x"), (name,))) == "SELECT a.txt x"
    assert derive(view, Filled(("", ""), (name._replace(choice="[all]"),))) is None
    assert derive(view, Filled(("", ""), (name._replace(choice="only"),))) is None


@pytest.mark.parametrize(
    "told",
    [
        "{",
        "{}",
        '["fixed"]',
        '["fixed","{"]',
        '["taken","a"]',
        '["taken",1,2,3,4,5]',
        '["filled",["a"],["b"]]',
        '["filled",["a","b"],[["x"]]]',
    ],
)
def test_what_is_no_derivation_is_told(told: str) -> None:
    with pytest.raises(ValueError):
        read(told)


def test_a_value_is_explained_by_where_it_stood() -> None:
    found = ways("/home/x/b.md", LISTED)

    assert ValueDerivation(AT_LIST, NAME, "under", "p", "second") in found
    assert ValueDerivation(AT_LIST, NAME, "under", "p", "first") not in found
    assert ways("/home/y/b.md", LISTED) == set()


def test_so_are_words_and_arguments_and_lists() -> None:
    said = ways("Krill", words="look at Krill please")

    assert ValueDerivation(WORDS, "said~name", "", "w", "only") in said
    assert ValueDerivation(AT_LIST, "given.path", "", "p", "only") in ways("/home/x", LISTED)
    assert ValueDerivation(AT_LIST, NAME, "", "w", "[all]") in ways(
        ["a.txt", "b.md", "c.md"], LISTED
    )
    assert ways(["a.txt", "letter.txt"], LISTED) == set()
    assert ways([[1]], LISTED) == {Fixed("[[1]]")}


def test_what_was_said_first_is_found_whatever_was_said_later() -> None:
    heard = RecentCalls().told("open ticket 7").told("find a record")

    found = explained(View(heard), "tickets", frozenset())

    assert ValueDerivation(WORDS + "^", "said~word", "plural", "w", "last") in found
    assert ValueDerivation(WORDS, "said~word", "plural", "w", "last") in found
    assert ValueDerivation(WORDS, "said~word", "plural", "w", "second") not in found
    assert ValueDerivation(WORDS + "^", "said~word", "plural", "w", "second") in found


def test_a_wish_is_known_by_what_was_given_of_it() -> None:
    rows: list[tuple[str, JsonObject, bool]] = [
        ("open ticket 7", {"id": "7"}, True),
        ("open ticket 7", {"ids": [7]}, True),
        ("open ticket 7", {"query": "see ticket 7"}, False),
        ("open ticket 7", {}, False),
        ("", {"id": "7"}, False),
    ]

    for words, arguments, wished in rows:
        assert View(window(call(LIST, arguments), words=words)).wished == wished


def test_what_is_nobodys_is_explained_by_itself() -> None:
    assert ways(True) == {Fixed("true")}
    assert ways(None) == {Fixed("null")}
    assert Fixed("5") in ways(5, call(LIST, {}, values({"count": 5})))


def test_a_path_goes_on_where_another_ended() -> None:
    repo = call(QUERY, {"repo": "/home/krill"})
    files = call(LIST, {"project": "krill"}, values({"files": ["src/main.py", "src/tests.py"]}))

    found = ways("/home/krill/src/tests.py", repo, files)
    head = ValueDerivation(place_text(QUERY), "given.repo", "", "p", "only")

    assert any(isinstance(it, Filled) and it.slots[0] == head for it in found)
    assert Filled(("", "/**/*.md"), (head,)) in ways("/home/krill/**/*.md", repo)
    assert ways("/home/krill/b.md", repo) == set()


def test_a_query_is_a_text_around_what_was_found() -> None:
    tables = call(LIST, {}, values([{"name": "customers", "key": "customer_id"}]))

    found = ways("SELECT customers.x FROM customers WHERE customer_id = 5", tables)
    three = "SELECT COUNT(*) FROM customers"

    assert any(isinstance(it, Filled) and it.literals[-1] == " = 5" for it in found)
    assert {it.literals for it in ways(three, tables) if isinstance(it, Filled)} == {
        ("SELECT COUNT(*) FROM ", "")
    }
    assert ways("SELECT * FROM salaries WHERE customer_id = 5", tables) == set()
    assert ways("SELECT " + "x, " * 200, tables) == set()
    assert not any(isinstance(it, Filled) for it in ways("SELECT " + "x, " * 40, tables))


def test_numbers_are_found_in_queries_as_well() -> None:
    order = call(LIST, {}, values([{"id": 94, "state": "open"}]))

    found = ways("SELECT * FROM x WHERE id = 94 AND state = 'open'", order)
    slots = {len(it.slots) for it in found if isinstance(it, Filled)}

    assert slots == {1, 2}


def test_no_sentence_is_kept_around_a_value() -> None:
    order = call(LIST, {}, values([{"name": "somebody"}]))

    assert ways("tell somebody that we are not in on it", order) == set()


@given(st.text(max_size=300), st.text(max_size=300))
def test_whatever_was_said_is_explained_rightly(seen: str, value: str) -> None:
    view = View(window(call(LIST, {"a": seen}, text(seen)), words=value))

    for way in explained(view, value, frozenset()):
        assert derive(view, read(written(way))) == value


@given(st.recursive(st.integers() | st.text(max_size=9), lambda it: st.lists(it, max_size=3)))
def test_lists_are_explained_rightly(value: JsonValue) -> None:
    view = View(window(call(LIST, {"a": value}, values(value))))

    for way in explained(view, value, frozenset()):
        assert json.dumps(derive(view, way)) == json.dumps(value)
