"""Models that learn to read, in the command line: how well they do, measured on texts."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.evaluation.pretraining import EvaluatedReading
    from dragoman.pipeline import Pipeline

TITLES = {
    "loss": "both losses, in nats",
    "masked_words": "nats a hidden word",
    "perplexity": "words it hesitates between",
    "masked_word_accuracy": "% of hidden words that it guesses",
    "next_sentence": "nats a pair",
    "next_sentence_accuracy": "% of pairs of which it knows whether the second follows",
}


def evaluate_pretrained(pipeline: "Pipeline", files: list[str], json: bool) -> None:
    """How well a pretrained model reads texts."""
    from dragoman.cli.progress import metered, warn
    from dragoman.cli.unknown import warn_of_unknown
    from dragoman.evaluation.pretraining import evaluate_reading

    with metered() as tell:
        result = evaluate_reading(
            pipeline, files, lambda what, done, total: tell(f"{done:,} of {total:,} {what}", done / total)
        )
    if result.problems.count:
        warn(f"{result.problems.count:,} bad lines were left out.\n{result.problems.summary()}")
    warn_of_unknown(result.unknown, "symbols of the text")
    print_reading(result, json)


def print_reading(result: "EvaluatedReading", json: bool) -> None:
    import json as writer

    names = ("documents", "characters", "symbols", "examples", "words", "follows", "seconds")
    facts = {name: getattr(result, name) for name in names}
    if json:
        metrics = {value.name: {k: v for k, v in vars(value).items() if k != "name"} for value in result.metrics}
        print(writer.dumps({**facts, "bad_lines": result.problems.count, "metrics": metrics}, indent=2))
        return
    from dragoman.cli.evaluate import table_of
    from dragoman.cli.progress import plain_console

    console = plain_console()
    console.print(table_of([(value, TITLES[value.name]) for value in result.metrics]))
    console.print(
        f"{result.symbols:,} symbols of {result.documents:,} documents in {result.examples:,} examples, "
        f"{result.words:,} words hidden; in {result.follows:.0%} of the examples the second text follows the first",
        soft_wrap=True,
    )
    console.print(f"all: {result.metrics[0].signature}", soft_wrap=True)
