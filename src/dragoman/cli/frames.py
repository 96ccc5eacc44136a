"""Models that say what frames are, in the command line: a line a sequence, or a line a frame."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dragoman.cli.skipping import good

if TYPE_CHECKING:
    from dragoman.contracts import Answer
    from dragoman.pipeline import Pipeline


def predict_frames(
    pipeline: "Pipeline",
    file: str,
    reading: Mapping[str, Any],
    scores: bool,
    longer: str | None,
    json: bool,
    skip_bad: bool,
) -> None:
    """Name and label of every sequence; or of each of its frames, a line each."""
    from dragoman.cli.progress import warn
    from dragoman.data.readers.lines import Problems
    from dragoman.data.readers.picture_places import advice
    from dragoman.data.readers.standard_input import spooled
    from dragoman.errors import DataError, choose
    from dragoman.pipeline import LONGER

    policy = choose("way with longer sequences", longer or pipeline.settings.limits.longer, LONGER)
    what, problems, reader = pipeline.known_labels.what, Problems(), pipeline.frame_reader
    answered = cut = 0
    with spooled([file]) as ((plain,),):
        series = good(reader.in_file(str(plain), problems, reading), problems, skip_bad, "sequences")
        for answer in reader.answers(series, policy):
            for line in [as_json(answer, what)] if json else as_lines(answer, what, scores):
                print(line)
            answered, cut = answered + 1, cut + (answer.longer == "cut")
    if not answered:
        told = f"{problems.summary()}{advice(problems)}" if problems.count else ""
        raise DataError(f"There is no sequence in {file}.\n{told}".rstrip())
    if problems.count:
        warn(f"{problems.count:,} sequences were left out.\n{problems.summary()}")
    if cut:
        warn(f"{cut:,} sequences were longer than limits.source = {pipeline.settings.limits.source} and were cut.")


def as_lines(answer: "Answer", what: str, scores: bool) -> Iterator[str]:
    """name<TAB>label; of frames name<TAB>frame<TAB>label; and a probability behind it, if it is asked for."""
    name = " ".join(answer.source.split())
    if what != "tags":
        rated = f"\t{math.exp(answer.score):.4f}" if scores and what == "labels" else ""
        yield f"{name}\t{answer.text}{rated}"
        return
    each = zip(answer.tokens, answer.best.token_log_probabilities, strict=True)
    for number, (label, log) in enumerate(each, start=1):
        yield f"{name}\t{number}\t{label}" + (f"\t{math.exp(log):.4f}" if scores else "")


def as_json(answer: "Answer", what: str) -> str:
    import json

    best, facts = answer.best, dict[str, Any](source=answer.source)
    if what == "numbers":
        facts["number"] = best.score
    elif what == "tags":
        each = zip(best.tokens, best.token_log_probabilities, strict=True)
        facts["frames"] = [{"label": label, "probability": math.exp(log)} for label, log in each]
    else:
        facts["label"] = answer.text
        facts["probabilities"] = {one.text: math.exp(one.score) for one in answer.predictions}
    return json.dumps(facts | ({"longer": answer.longer} if answer.longer else {}), ensure_ascii=False)
