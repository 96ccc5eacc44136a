"""How good a model is, in plain words."""

from dragoman.inspection.report.answers import Tested
from dragoman.inspection.report.caption_chapters import caption_verdict
from dragoman.inspection.report.facts import Facts, Findings
from dragoman.inspection.report.label_chapters import label_verdict
from dragoman.inspection.report.page import THIN, cut, fixed, percent, whole
from dragoman.inspection.report.pretrained_chapters import reading_verdict
from dragoman.inspection.report.quality import metric_name
from dragoman.inspection.report.span_chapters import span_verdict
from dragoman.inspection.report.text_chapters import text_verdict
from dragoman.inspection.report.track_chapters import track_verdict

DATA = {"given": "test", "test": "test", "valid": "validation"}  # what a split is called
OFTEN_RIGHT = 0.25  # share of answers equal to a reference above which that is the first thing to say


def verdict(facts: Facts) -> list[str]:
    """Whether the model beats the best baseline and what to do next, then how good it is, in plain words."""
    standing, said = facts.standing, quality(facts)
    if standing is None or standing.best is None:
        return [one for one in (*said, facts.advice, "" if standing is None else standing.note) if one]
    return [one for one in (standing.sentence(), facts.advice, *said, standing.note) if one]


def quality(facts: Facts) -> list[str]:
    if facts.labelled is not None:
        return label_verdict(facts.labelled)
    if facts.text is not None:
        return text_verdict(facts.text)
    if facts.reading is not None:
        return reading_verdict(facts.reading)
    if facts.spans is not None:
        return span_verdict(facts.spans)
    if facts.captions is not None:
        return caption_verdict(facts.captions)
    if facts.tracks is not None:
        return track_verdict(facts.tracks)
    if facts.tested is None or facts.findings is None:
        return [facts.untested]
    if facts.talks:
        return [*talk_sentences(facts.tested), failing_sentence(facts.findings)]
    return [first_sentence(facts.tested, facts.findings), *other_sentences(facts.tested, facts.findings)]


def first_sentence(tested: Tested, findings: Findings) -> str:
    total = len(tested.examples)
    what = f"{DATA[tested.sample.split]} sources"
    right = percent(findings.right, total)
    named = [one for one in tested.metrics if one.name not in ("exact_match", "sequence_error_rate", "perplexity")]
    rest = "; ".join(f"{metric_name(one.name)} {fixed(one.value, 1)}{unit_of(one.name)}" for one in named)
    if not named or findings.right >= OFTEN_RIGHT * total:
        return f"{right} of {whole(total)} {what} right{f'; {rest}' if rest else ''}."
    return f"{rest} on {whole(total)} {what}; {right} of the answers are equal to a reference."


def unit_of(name: str) -> str:
    return f"{THIN}%" if name.endswith("_rate") else ""


def other_sentences(tested: Tested, findings: Findings) -> list[str]:
    """What is to blame, what is confused, what fails."""
    wrong = len(tested.examples) - findings.right
    said = []
    if wrong:
        model_errors = whole(wrong - findings.search_errors)
        search_errors = whole(findings.search_errors)
        said.append(
            f"Of {whole(wrong)} wrong answers, {search_errors} are due to the search and {model_errors} to the model."
        )
    if (top := findings.most_confused) is not None and top.count > 1:
        said.append(f"Most often {mistake(top.expected, top.got)} ({whole(top.count)} times).")
    return [*said, failing_sentence(findings)]


def failing_sentence(findings: Findings) -> str:
    failing = [f"{fault.name} ({whole(len(fault.found))})" for fault in findings.faults if fault.found]
    return f"Answers that fail as a whole: {', '.join(failing)}." if failing else "No answer fails as a whole."


def talk_sentences(tested: Tested) -> list[str]:
    """Perplexity first: it asks how probable the true turn is, whatever was answered."""
    known = next(one for one in tested.metrics if one.name == "perplexity")
    turns = f"{whole(len(tested.examples))} {DATA[tested.sample.split]} turns"
    rest = "; ".join(f"{metric_name(one.name)} {fixed(one.value, 1)}" for one in tested.metrics if one is not known)
    interval = f"{fixed(known.low, 1)} … {fixed(known.high, 1)}"
    said = [f"Perplexity {fixed(known.value, 1)} a symbol of the next turn ({interval}), over {turns}."]
    return [*said, f"There are many good answers, and few are what was said: {rest}."] if rest else said


def mistake(expected: str | None, got: str | None) -> str:
    """“a” became “b”, “a” was left out, or “b” was put in."""
    wanted, found = (None if piece is None else f"“{cut(piece, 30)}”" for piece in (expected, got))
    if wanted is None:
        return f"{found} was put in"
    return f"{wanted} was left out" if found is None else f"{wanted} became {found}"
