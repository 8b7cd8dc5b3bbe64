"""What is not said right, whichever command it is, is told before anything is asked of a server."""

import pytest

from portico.interfaces.cli.errors import Exit
from tests.interfaces.cli.command_line import CommandLine
from tests.interfaces.cli.workflow_answers import PLAN

FILES = {
    "plan.toml": PLAN.encode(),
    "p.py": b"1",
    "broken.toml": b"steps = [",
    "list.json": b"[1]",
    "a.png": b"\x89PNG\xff",
}
SLIPS = [
    ("agents delete helper", 'Did you mean "remove"?'),
    ("agents runs --limit 0", "--limit"),
    ("agents runs --until yesterday", "--until: 'yesterday' is no time."),
    ("ahead live --external", "portico ahead live --server NAME --external"),
    ("approvals approve apr_01m7fxv1skfhf86xxtf6psvgnn --pattern mail.*", "--always"),
    ("audit tail -n -1", "-n"),
    ("bridge post plan x --by 2h", "--ack"),
    ("bridge post plan hello --label secret", "Write a level (public, team"),
    ("bridge read plan --upto secret", "Write a level (public, team"),
    ("bridge read plan --last 5 --all", "--all"),
    ("bridge search", "There is nothing to look for."),
    ("bridge search ' '", "There is nothing to look for."),
    ("bridge memory find apollo", "There is nothing to look for."),
    ("bridge memory set apollo k", "bridge memory set"),
    ("bridge memory set apollo k '{' --json-value", "JSON"),
    ("bridge declassify psvg22 --to secret", "Write a level (public, team"),
    ("bridge declassify psvg22", "portico bridge declassify psvg22 --to team"),
    ("bridge fetch abc", "portico bridge read CONVERSATION --json"),
    ("bridge ack m3", "too short"),
    ("bridge work claim g22", "too short"),
    ("bridge watch" + " plan" * 17, "16"),
    ("debate ' '", "Nothing is asked."),
    ("debate lst", "Did you mean list?"),
    ("debate rm", "Did you mean remove?"),
    ("debate Why? --budget many", "is no number of tokens"),
    ("debate Why? --budget-usd -1", "is no sum"),
    ("debate Why? --budget-usd NaN", "is no sum"),
    ("debate Why? --deadline soon", "is not how long"),
    ("debate Why? --deadline 0", "nobody answers in no time"),
    ("debate Why? --thoroughness 2", "2 is not between 0 and 1"),
    ("debate Why? --thoroughness nan", "nan is not between 0 and 1"),
    ("debate Why? --label shiny", "shiny"),
    ("debate Why? --choice A", "Give --choice at least twice."),
    ("debate Why? --material a.png", "is no text"),
    ("debate list --limit 0", "--limit"),
    ("debate outcome psvgnn", "right"),
    ("debate outcome psvgnn right --answer yes", "in one way"),
    ("debate promote psvgnn", "--to"),
    ("debate personas put lawyer ' '", "It is not said what to look at."),
    ("debate budget harbour --none --usd 1", "--none"),
    ("embeddings use static --url http://a/v1", "for remote only"),
    ("graph neighbours a.b --limit 0", "--limit"),
    ("keys create editor --agent --to bob", "--agent"),
    ("keys create editor --save", "--agent"),
    ("keys trust abcdefghijkl --as ana --nobody", "--nobody"),
    ("people change ben", "(bad_usage)"),
    ("people invite ben --again --role viewer", "(bad_usage)"),
    ("people invite ben --again --clearance team", "(bad_usage)"),
    ("plan chek", "Did you mean"),
    ("plan shema", "Did you mean"),
    ("plan proposal", "Did you mean"),
    ("plan ' '", "It is not said what you want."),
    ("plan 'copy it' --write a.yaml", "a.yaml"),
    ("plan check p.py", "is no file with a plan"),
    ("plan propose saved-one", "no file with a plan"),
    ("plan propose plan.toml --write", "nothing to write"),
    ("run plan.toml --set raed.path=1", "Did you mean read?"),
    ("run plan.toml --set zzz.path=1", "It has: read"),
    ("run plan.toml --set read=1", "is not STEP.ARGUMENT"),
    ("run plan.toml --set read", "is not NAME=VALUE"),
    ("run plan.toml --input {", "is not JSON"),
    ("run plan.toml --input @list.json", "is not a JSON object"),
    ("run p.py --set read.path=1", "has no steps to set"),
    ("run p.py --dry-run", "shows only when it runs"),
    ("run p.py --accept 'a -> b'", "has no edges to accept"),
    ("run broken.toml", "broken.toml: the plan: It is not TOML"),
    ("run list.json", "it is not an object"),
    ("run notes.md", "neither a plan nor a program"),
    ("run --wacht plan.toml", "Unknown option"),
    ("run", "Say one thing to run"),
    ("run plan.toml --attach run_1", "Say one thing to run"),
    ("run nightly --intent 'copy it'", "Only of a plan in a file"),
    ("run --suggestion sug_1 plan.toml", "suggestion"),
    ("run --suggestion sug_1 --attach run_1", "suggestion"),
    ("run --suggestion sug_1 --dry-run", "--write plan.toml"),
    ("run --suggestion sug_1 --set read.path=1", "suggestion"),
    ("runs cancel ''", "at least six letters"),
    ("runs cancel x", "at least six letters"),
    ("runs cancel aaaaa", "at least six letters"),
    ("runs cancel run_", "at least six letters"),
    ("runs cancel run_5h8kd", "at least six letters"),
    ("runs list --limit 0", "--limit"),
    ("runs start drill --input steps=3", "It is a JSON object"),
    ("runs start drill --input [1]", "It is a JSON object"),
    ("runs start drill --input '\"a\"'", "It is a JSON object"),
    ("runs start drill --input '{\"steps\": 3,\n bad'", "line 2 column 2"),
    ("runs signal run_01m7fh87g0e0080000000aaaaa 'go on' yes", "'\"yes\"'"),
    ("search 'read a file' --limit 0", "--limit is 1 or more."),
    ("servers login-config lab", "--client-id"),
    ("workflows fork run_01m7fh87g0e0080000000aaaaa", "--from"),
    ("workflows list --limit 0", "--limit"),
    ("workflows resolve run_01m7fh87g0e0080000000aaaaa pay perhaps", "perhaps"),
    ("workflows save nightly p.py", "Only a plan can be saved."),
]


@pytest.mark.requirement("cli:exits:codes")
@pytest.mark.parametrize(("command", "said"), SLIPS)
def test_what_is_not_said_right_is_told_before_anything_is_asked(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, command: str, said: str
) -> None:
    """There is no server here: whatever asked one would end otherwise."""
    for name, content in FILES.items():
        cli.file(name, content)
    monkeypatch.chdir(cli.root)

    got = cli(command, typed="")

    assert (got.code, got.out) == (Exit.USAGE, "")
    assert said in " ".join(got.err.split())


@pytest.mark.requirement("cli:exits:codes")
@pytest.mark.parametrize(
    "command",
    [
        "bridge delete msg_01m7fxv1skfhf86xxtf6m00003",
        "db restore plan.toml",
        "db upgrade --back",
        "db upgrade --forget-old",
        "debate remove dbt_01m7fxv1skfhf86xxtf6psvgnn",
        "debate personas remove lawyer",
        "workflows remove nightly",
    ],
)
def test_nothing_is_lost_without_a_yes(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    cli.file("plan.toml", PLAN)
    monkeypatch.chdir(cli.root)

    got = cli(command)

    assert (got.code, got.out) == (Exit.APPROVAL, "")
    assert "--yes" in got.err
    assert cli.house.scripted_archive.restored == []
