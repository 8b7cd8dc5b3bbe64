"""The same as a model reads it: what came of it first, and what others said set in below."""

from portico.debate.core.conduct import brief, percent
from portico.interfaces.mcp.told import Facts, lines, quoted


def debate_words(debate: Facts) -> str:
    decision = debate.get("decision", {})
    answer = decision.get("synthesis") or decision.get("answer") or ""
    return lines(
        f"{debate['debate']} [{debate['label']}] {debate['told']}",
        quoted(answer),
        _part_words(debate) if debate.get("analysis") else dissent_words(decision),
        [quoted(each) for each in debate.get("not_done", ())],
        cost_line(debate),
        _goes_on(debate),
    )


def dissent_words(decision: Facts) -> str:
    dissent = decision.get("dissent", ())
    head = "Dissent:" if decision.get("verdict") == "decided" else "What was said:"
    return lines(head if dissent else "", [_option_words(each) for each in dissent])


def _part_words(debate: Facts) -> str:
    parts = debate.get("parts", ())
    each = [f"{part['debate']}: {brief(part['question'])} {part['told']}" for part in parts]
    return lines("Parts:" if each else "", [quoted(line) for line in each])


def cost_line(debate: Facts) -> str:
    if debate["status"] == "running":
        return ""  # it is known once it is over
    cost = f"{debate['tokens']:,} tokens in {_calls(debate['calls'])}"
    return f"It cost {cost}, ${debate['dollars']}."


def _calls(many: int) -> str:
    return "1 call" if many == 1 else f"{many:,} calls"


def debate_line(debate: Facts) -> str:
    question = brief(debate["question"])
    return f"{debate['debate']} [{debate['label']}] {debate['status']}: {question}"


def estimate_words(estimate: Facts) -> str:
    rows = [
        f"  {each['voice']}: {_calls(each['calls'])}, {each['tokens']:,} tokens, "
        f"${each['dollars']}"
        + ("" if each["bounded"] else ", and more: it cannot be held to a maximum")
        for each in estimate["voices"]
    ]
    return lines(
        f"At most {estimate['most_tokens']:,} tokens, ${estimate['most_dollars']}, in "
        f"{_calls(estimate['most_calls'])}; usually {estimate['likely_tokens']:,} tokens in "
        f"{_calls(estimate['likely_calls'])}. Nothing was asked.",
        rows,
        estimate["notes"],
        "" if estimate["fits"] else "It does not fit into its budget, and could not begin.",
    )


def seat_words(seat: Facts) -> str:
    if seat.get("over"):
        return f"You sat there as {seat['voice']}. The debate is over."
    if "asked" not in seat:
        taken = "Your answer was taken. " if seat.get("taken") else ""
        return (
            f"{taken}You have a seat as {seat['voice']}, and nothing is asked of you now. Call "
            f"join_debate again, with wait, until {seat['until']}."
        )
    return lines(
        f"You have a seat as {seat['voice']}. Answer by join_debate with `answer` until "
        f"{seat['until']}:",
        quoted(seat["asked"]),
    )


def outcome_words(outcome: Facts) -> str:
    told = "right" if outcome["decided_right"] else "wrong"
    right = f"; the right answer is {brief(outcome['right'])}" if "right" in outcome else ""
    return (
        f"Written down: {outcome['debate']} was {told}{right}. The voices' weights learn from it."
    )


def replayed_words(replayed: Facts) -> str:
    was = replayed["was"] or {}
    before = f"It was: {brief(was.get('answer', 'no decision'))}." if was else ""
    return lines(
        replayed["told"],
        dissent_words(replayed["now"]),
        before,
        f"These rules would have used {replayed['calls']} of {_calls(replayed['calls_made'])}, and "
        f"{replayed['tokens']:,} of {replayed['tokens_spent']:,} tokens.",
        replayed["notes"],
    )


def voice_line(voice: Facts) -> str:
    flags = ["no maximum"] if voice.get("unbounded") else []
    away = f": away. {voice['away']}" if "away" in voice else ""
    return f"  {voice['voice']} [{', '.join([voice['clearance'], voice['family'], *flags])}]{away}"


def _option_words(option: Facts) -> str:
    who = ", ".join(option.get("voices", ()))
    said = f"{brief(option.get('answer', ''))} ({percent(option['probability'])}; {who})"
    why = option.get("rationale")
    return quoted(f"{said}: {brief(why)}" if why else said)


def _goes_on(debate: Facts) -> str:
    if debate["status"] != "running":
        return ""
    waits = " It has seats for guests: join_debate." if debate["guests"] else ""
    return f"It goes on without you: ask debate_status with wait.{waits}"
