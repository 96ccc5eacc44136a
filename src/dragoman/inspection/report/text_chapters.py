"""The chapters on language models: how well they know a text, where it is hard, and how they go on."""

import math
from itertools import pairwise

from dragoman.inspection.report.charts import Column, Scale, column_chart, range_bar
from dragoman.inspection.report.page import (
    Content,
    Html,
    cut,
    element,
    fixed,
    join,
    long_text,
    percent,
    section,
    table,
    whole,
)
from dragoman.inspection.report.quality import metric_name, span
from dragoman.inspection.report.texts import Continued, Passage, TestedText

MEANINGS = {
    "loss": "mean of −log p(symbol | what stands before it), in nats",
    "perplexity": "its exponential: symbols it hesitates between",
    "bits_per_character": "−log₂ p of the whole text by its characters, which no choice of symbols changes",
}
LEVELS = (1.0, 2.0, 4.0, 7.0)  # nats from which on a symbol is marked more strongly
SYMBOLS = 600  # of a passage
LONGEST = 1_500  # characters of a continuation
PIECE = 24


def text_metrics_section(tested: TestedText) -> Html:
    drawn = tested.drawn
    sampled = f", drawn at random from {whole(drawn.total)}" if drawn.count < drawn.total else ""
    how = (
        f"Measured on {whole(drawn.count)} windows of {whole(tested.context)} symbols{sampled}, one behind the other, "
        "each symbol once. Lower is better. The stroke is the value, the broad bar its 95 % interval over windows."
    )
    rows: list[tuple[Content, ...]] = []
    for value in tested.metrics:
        name = join(
            [
                element("b", metric_name(value.name)),
                element("br"),
                element("span", MEANINGS[value.name], class_="muted"),
            ]
        )
        scale = Scale(0, value.high * 1.5 or 1.0, 2, 218)
        bar = range_bar(metric_name(value.name), value.value, value.low, value.high, scale)
        rows.append((name, element("b", fixed(value.value, 3)), f"{fixed(value.low, 3)} … {fixed(value.high, 3)}", bar))
    listed = table(("metric", "value", "95 % interval", ""), rows, numeric=(1, 2))
    signature = element("p", element("code", f"all: {tested.metrics[0].signature}"))
    return section("metrics", "Metrics", how, listed, signature)


def places_section(tested: TestedText) -> Html:
    how = (
        "The mean loss of symbols by their place in the window. The first ones have little before them to go by; how "
        "far the loss still falls behind them shows what a longer memory is worth. Whiskers are 95 % intervals."
    )
    columns = [
        Column(span(one.first, one.last), one.loss, one.low, one.high, f"{whole(one.count)}") for one in tested.places
    ]
    drawn = column_chart("Loss by place in the window", columns, "place in the window, and number of symbols")
    return section("places", "Loss by place in the window", how, element("figure", drawn))


def hard_section(tested: TestedText) -> Html:
    how = (
        "The symbols that most of the loss belongs to: frequent ones that are hard to foresee. Below, passages as the "
        "model read them: the stronger the colour, the less it expected the symbol."
    )
    rows = [
        (element("span", piece(one.symbol), class_="piece"), whole(one.count), fixed(one.loss), percent(one.share, 1))
        for one in tested.hard
    ]
    listed = table(("symbol", "times", "mean loss", "of the whole loss"), rows, numeric=(1, 2, 3))
    bounds = [f"{low:g} to {high:g}" for low, high in pairwise(LEVELS)]
    names = [f"under {LEVELS[0]:g}", *bounds, f"over {LEVELS[-1]:g}"]
    key = [element("span", name, class_=f"l{level}") for level, name in enumerate(names)]
    scale = element("p", "nats: ", *key, class_="passage levels")
    return section(
        "hard", "What is hard", how, listed, element("h3", "Passages"), scale, *map(passage, tested.passages)
    )


def piece(symbol: str) -> str:
    return {"\n": "⏎", " ": "␣"}.get(symbol, cut(symbol, PIECE))


def passage(one: Passage) -> Html:
    pieces = []
    for symbol, log in list(zip(one.symbols, one.log_probabilities, strict=True))[:SYMBOLS]:
        level = sum(-log >= bound for bound in LEVELS)
        told = f"{piece(symbol)} {fixed(math.exp(log), 3)}"
        shown = Html("⏎\n") if symbol == "\n" else cut(symbol, PIECE)
        pieces.append(element("span", shown, class_=f"l{level}" if level else "", title=told))
        if symbol == "END":
            pieces.append(Html("\n\n"))
    return element("div", *pieces, class_="passage", dir="auto")


def continued_section(tested: TestedText) -> Html:
    how = (
        "How the model goes on with the beginnings of windows, and with nothing, by the run's own search. What was "
        "given is grey; below stands how the text itself goes on."
    )
    return section("continuations", "How it goes on", how, *map(continued, tested.continued))


def continued(one: Continued) -> Html:
    given = element("span", long_lines(one.prompt), class_="given")
    begun = given if one.prompt else element("span", "(nothing) ", class_="given")
    end = element("span", " END" if one.finished else " …", class_="given")
    shown = element("div", begun, long_lines(one.answer), end)
    rows = [
        ("the model", element("div", shown, class_="passage", dir="auto")),
        *(
            [("the text", element("div", given, long_lines(one.truth), class_="passage", dir="auto"))]
            if one.truth
            else []
        ),
    ]
    body = [element("tr", element("th", name, scope="row"), element("td", content)) for name, content in rows]
    return element("table", element("tbody", *body), class_="example")


def long_lines(text: str) -> Html:
    """With its line ends, which a passage keeps."""
    return join([long_text(line, LONGEST) for line in cut(text, LONGEST).split("\n")], "\n")


def text_verdict(tested: TestedText) -> list[str]:
    values = {value.name: value.value for value in tested.metrics}
    data = "validation" if tested.drawn.split == "valid" else "test"
    said = [
        f"Loss {fixed(values['loss'], 3)} nats a symbol (perplexity {fixed(values['perplexity'], 2)}, "
        f"{fixed(values['bits_per_character'], 3)} bits a character) on {whole(tested.drawn.count)} {data} windows."
    ]
    if len(tested.places) > 1:
        first, last = tested.places[0], tested.places[-1]
        said.append(
            f"The first symbol of a window costs {fixed(first.loss)} nats, those from place {whole(last.first)} on "
            f"{fixed(last.loss)}."
        )
    return said
