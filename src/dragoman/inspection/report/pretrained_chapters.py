"""The chapters on models that learn to read: how well, and what they put into gaps."""

from dragoman.inspection.report.charts import Scale, range_bar
from dragoman.inspection.report.page import NO_BREAK, Html, element, fixed, foreign, join, section, table, whole
from dragoman.inspection.report.pretrained import TestedReading
from dragoman.inspection.report.quality import metric_name
from dragoman.metrics import Measured

MEANINGS = {
    "loss": "both losses, in nats; lower is better",
    "masked_words": "nats a hidden word; lower is better",
    "perplexity": "words it hesitates between; lower is better",
    "masked_word_accuracy": "% of hidden words that it guesses; higher is better",
    "next_sentence": "nats a pair; lower is better",
    "next_sentence_accuracy": "% of pairs of which it knows whether the second follows; higher is better",
}


def reading_metrics_section(tested: TestedReading) -> Html:
    how = (
        f"Measured on {whole(tested.drawn.count)} examples of {whole(tested.documents)} documents, in which "
        f"{whole(tested.words)} words are hidden. The stroke is the value, the broad bar its 95 % interval over "
        "examples."
    )
    rows = [
        (
            join(
                [
                    element("b", metric_name(value.name)),
                    element("br"),
                    element("span", MEANINGS[value.name], class_="muted"),
                ]
            ),
            element("b", fixed(value.value)),
            f"{fixed(value.low)} … {fixed(value.high)}",
            range_bar(metric_name(value.name), value.value, value.low, value.high, scale_of(value)),
        )
        for value in tested.metrics
    ]
    signature = element("p", element("code", f"all: {tested.metrics[0].signature}"))
    return section(
        "metrics", "Metrics", how, table(("metric", "value", "95 % interval", ""), rows, numeric=(1, 2)), signature
    )


def scale_of(value: Measured) -> Scale:
    return Scale(0, 100 if value.name.endswith("accuracy") else value.high * 1.5 or 1.0, 2, 218)


def gaps_section(tested: TestedReading) -> Html:
    how = (
        "A word is taken out of lines that the model never learned from. Beside each stand the words that it would put "
        "there, with their probabilities; the true one is bold."
    )
    rows = [
        (
            join([foreign(one.before), element("mark", one.word), foreign(one.behind)]),
            join([guess(name, share, one.word) for name, share in one.guesses], " "),
        )
        for one in tested.gaps
    ]
    return section("gaps", "Gaps that it fills", how, table(("line", "what it would put there"), rows))


def guess(name: str, share: float, word: str) -> Html:
    said = foreign(name, 40)
    right = name.lower() == word.lower()
    return join([element("b", said) if right else said, element("span", f"{NO_BREAK}{fixed(share)} ", class_="muted")])


def reading_verdict(tested: TestedReading) -> list[str]:
    values = {value.name: fixed(value.value, 1) for value in tested.metrics}
    data = "validation" if tested.drawn.split == "valid" else "test"
    parts = []
    if "masked_word_accuracy" in values:
        parts.append(f"{values['masked_word_accuracy']} % of {whole(tested.words)} hidden words guessed")
    if "next_sentence_accuracy" in values:
        parts.append(f"{values['next_sentence_accuracy']} % of {whole(tested.drawn.count)} next sentences known")
    return [f"{'; '.join(parts)}, on {data} texts."]
