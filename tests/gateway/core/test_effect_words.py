"""Words of names and sentences, and what they say."""

from portico.gateway.core.effect_words import (
    Doing,
    Sign,
    meaning,
    name_signs,
    onward_signs,
    sentence_signs,
    words,
)


def test_a_name_is_taken_apart() -> None:
    rows: list[tuple[str, list[str]]] = [
        ("get_http-page", ["get", "http", "page"]),
        ("getHTTPPage", ["get", "http", "page"]),
        ("API-retrieve-a-page", ["api", "retrieve", "a", "page"]),
        ("browser.click2", ["browser", "click"]),
        ("読む", []),
    ]

    for name, parts in rows:
        assert words(name) == parts


def test_a_verb_is_known_in_its_forms() -> None:
    rows: list[tuple[str, Doing | None]] = [
        ("get", Doing.READS),
        ("Gets", Doing.READS),
        ("fetches", Doing.READS),
        ("copies", Doing.WRITES),
        ("Deletes", Doing.DESTROYS),
        ("executes", Doing.RUNS),
        ("banana", None),
    ]

    for word, doing in rows:
        assert meaning(word) is doing


def test_the_worst_word_of_a_name_counts_and_the_name_of_a_thing_does_not() -> None:
    rows: list[tuple[str, Doing | None]] = [
        ("get_pull_request", Doing.READS),
        ("list_commits", Doing.READS),
        ("get_commit", Doing.READS),
        ("search_and_replace", Doing.WRITES),
        ("find_and_update", Doing.WRITES),
        ("get_or_create", Doing.WRITES),
        ("read_then_delete", Doing.DESTROYS),
        ("update_or_delete", Doing.DESTROYS),
        ("post_message", Doing.WRITES),
        ("slack_post_message", Doing.WRITES),
        ("git_fetch", Doing.WRITES),
        ("fetch_page", Doing.READS),
        ("check_out", Doing.WRITES),
        ("check_status", Doing.READS),
        ("run_query", Doing.RUNS),
        ("dropTable", Doing.DESTROYS),
        ("reset_counter", Doing.DESTROYS),
        ("weather", None),
    ]

    for name, doing in rows:
        assert max((sign.doing for sign in name_signs(name)), default=None) is doing


def test_of_a_name_that_claims_to_read_only_what_is_joined_on_speaks_against_it() -> None:
    assert onward_signs("get_create_fields") == [Sign(Doing.READS, "get")]
    assert onward_signs("get_or_create") == [Sign(Doing.READS, "get"), Sign(Doing.WRITES, "create")]
    assert onward_signs("delete_file") == [Sign(Doing.DESTROYS, "delete")]
    assert onward_signs("weather") == []


def test_verbs_are_looked_for_where_a_sentence_has_them() -> None:
    rows: list[tuple[str, list[str]]] = [
        ("Remove and return the first element", ["remove"]),
        ("Get the next message and delete it", ["get", "delete"]),
        ("Manage tags: list all tags, create a new tag", ["manage", "list", "create"]),
        ("Search issues, comments, and commits", ["search"]),
        ("Comment on an issue", ["comment"]),
        ("The weather of tomorrow", []),
        ("", []),
    ]

    for sentence, found in rows:
        assert [sign.word for sign in sentence_signs(sentence)] == found
