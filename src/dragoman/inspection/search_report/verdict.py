"""What came out, in sentences: for the terminal and the head of the page."""

from dragoman.inspection.report.page import chance, fixed, percent, whole
from dragoman.inspection.report.quality import metric_name
from dragoman.inspection.report.series import counted
from dragoman.inspection.search_report.errors import Share
from dragoman.inspection.search_report.facts import Facts


def verdict(facts: Facts) -> list[str]:
    return [curse_sentence(facts), *error_sentences(facts), length_sentence(facts)]


def curse_sentence(facts: Facts) -> str:
    """Where the beam's curse begins, or that it does not."""
    curse, name = facts.curse, metric_name(facts.curse.metric)
    best = next(one for one in facts.widths if one.width == curse.best).metrics[0]
    top = f"{fixed(best.value)} (95 % interval {fixed(best.low)} … {fixed(best.high)})"
    if len(facts.widths) == 1:
        return f"One width was measured, {curse.best}: {name} {top}."
    widest = facts.widths[-1].width
    if curse.begins is not None:
        p = curse.p[curse.wider.index(curse.begins)]
        return (
            f"{name} is best with a beam of {whole(curse.best)}: {top}. The beam's curse begins after it: with "
            f"{whole(curse.begins)} it is worse by more than chance ({chance(p)})."
        )
    if not curse.wider:
        return f"{name} is best with the widest beam, {whole(widest)}: {top}. There is no sign of the beam's curse."
    return (
        f"{name} is best with a beam of {whole(curse.best)}: {top}. It does not fall by more than chance up to the "
        f"widest beam, {whole(widest)}."
    )


def error_sentences(facts: Facts) -> list[str]:
    errors, beam = facts.errors, f"the beam of {whole(facts.own)}"
    total = len(errors.sentences)
    if not total:
        return ["No sentence was read at once, so search errors cannot be told from model errors."]
    missed, wrong = errors.share(search_error=True), errors.share(model_error=True)
    rest = total - missed.count
    proved = f" of the other {whole(rest)}, {whole(errors.faultless)} are proved to be best and {whole(errors.open)} "
    said = [
        f"Of {counted(total, 'sentence')}, {beam} makes a search error in {share(missed)}"
        + (f";{proved}{'is' if errors.open == 1 else 'are'} open." if rest else "."),
        f"In {share(wrong)} the model ranks a wrong answer above the reference.",
    ]
    if errors.empty is not None:
        known = counted(errors.empty.of, "sentence")
        said.append(f"Of {known} whose most probable sequence is proved, it is empty in {share(errors.empty)}.")
    return said


def share(one: Share) -> str:
    """7 (11.7 %, 5.8 … 22.2)"""
    low, high = one.interval
    return f"{whole(one.count)} ({percent(one.count, one.of)}, {fixed(low, 1)} … {fixed(high, 1)})"


def length_sentence(facts: Facts) -> str:
    first, last = facts.widths[0], facts.widths[-1]
    said = f"Answers have {fixed(first.ratio.value)} of the reference's length with a beam of {whole(first.width)}"
    return f"{said}." if first is last else f"{said} and {fixed(last.ratio.value)} with {whole(last.width)}."
