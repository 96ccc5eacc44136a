"""Print the results in `results/` as the tables that the documents show."""

import json
from typing import Any

from sets import HERE


def main() -> None:
    results = [json.loads(path.read_text("utf-8")) for path in sorted((HERE / "results").glob("*.json"))]
    scores(result for result in results if result["kind"] in ("score", "text"))
    for result in results:
        if any("sequence_error_rate" in point for point in result.get("curve", ())):
            curve(result)
    defaults([result for result in results if result["kind"] == "score"])
    speeds(result for result in results if result["kind"] == "speed")
    peers(result for result in results if result["kind"] == "peers")
    for result in results:
        if result["kind"] == "decoding":
            decoding(result)
        if result["kind"] == "reading-speed":
            reading_speed(result)
        if result["kind"] == "engines":
            engines(result)
        if result["kind"] == "tricks":
            tricks(result)
        if result["kind"] == "tracing":
            tracing(result)
        if result["kind"] == "searches":
            searches(result)
        if result["kind"] == "captions":
            captions(result)
        if result["kind"] == "tracks":
            tracks(result)
        if result["kind"] == "dialogue":
            dialogue(result)
        if result["kind"] == "demo":
            demo(result)
    memory(result for result in results if result["kind"] == "memory")
    for result in results:
        if result["kind"] == "lengths":
            lengths(result)


def scores(results: Any) -> None:
    print("| recipe | data | training | metric | value (95 %) | commit |\n|---|---|---|---|---|---|")
    for result in results:
        trained = f"{result['training_minutes']} min, {result['steps']:,} steps"
        recipe = f"{result['recipe']} {' '.join(result['settings'])}".strip()
        for name, value in result["metrics"].items():
            interval = f"{value['value']:.2f} ({value['low']:.2f} … {value['high']:.2f})"
            print(f"| {recipe} | {result['set']} | {trained} | {name} | {interval} | {result['commit']} |")


def captions(result: dict[str, Any]) -> None:
    """Of pictures in several languages, beside the captions of the nearest pictures."""
    trained = f"{result['recipe']}, {result['minutes']} min"
    print(f"\n| {trained} | captions | exact match (95 %) | nearest picture | token F1 |")
    print("|---|---|---|---|---|")
    for split, told in result["splits"].items():
        value, low, high = told["metrics"]["exact_match"]
        beside, f1 = told["nearest_picture"]["exact_match"], told["metrics"]["token_f1"][0]
        print(f"| {split} | {told['captions']} | {value:.1f} ({low:.1f} … {high:.1f}) | {beside:.1f} | {f1:.1f} |")
        for tag, values in told["languages"].items():
            print(f"| {split}, {tag} | | {values['exact_match']:.1f} | | {values['token_f1']:.1f} |")


def tracks(result: dict[str, Any]) -> None:
    """ADE and FDE, fold by fold."""
    rows = {"last velocity": result["last_velocity"]} | result["variants"]
    folds = list(result["last_velocity"]["folds"])
    print(f"\n| ADE/FDE in {result['unit']} | {' | '.join(folds)} | mean | deviation of ADE over seeds |")
    print(f"|---|{'---|' * (len(folds) + 2)}")
    for name, told in rows.items():
        cells = [f"{told['folds'][fold]['ade']:.2f}/{told['folds'][fold]['fde']:.2f}" for fold in folds]
        mean = f"{told['ade']:.3f}/{told['fde']:.3f}"
        print(f"| {name} | {' | '.join(cells)} | {mean} | {told['deviation']:.3f} |")


def dialogue(result: dict[str, Any]) -> None:
    """Perplexity of the next turn, by how many turns stand before it."""
    names = list(next(iter(result["systems"].values()))["by_turns_before"])
    headings = ["weights", "updates", "epochs", "perplexity", *(f"{name} turns before" for name in names)]
    budget = "equal updates" if result["minutes"] is None else f"{result['minutes']:g} min each"
    print(f"\n| {budget} | {' | '.join(headings)} |")
    print(f"|---|{'---|' * (len(names) + 4)}")
    for system, told in result["systems"].items():
        each = [f"{told['by_turns_before'][name]['mean']:.1f}" for name in names]
        value = f"{told['perplexity']['mean']:.1f} ± {told['perplexity']['deviation']:.1f}"
        sizes = f"{told['parameters']:,} | {told['steps']:,} | {told['epochs']}"
        print(f"| {system} | {sizes} | {value} | {' | '.join(each)} |")


def demo(result: dict[str, Any]) -> None:
    """What a demo said last, as it said it."""
    print(f"\n{result['demo']}: {json.dumps(result['result'], ensure_ascii=False)}")


def reading_speed(result: dict[str, Any]) -> None:
    """Training of GPT and BERT beside the others, task by task."""
    speeds, ratios = result["tokens_per_second"], result["ratios"]
    systems = list(dict.fromkeys(name.split()[0] for name in speeds))
    others = [system for system in systems if system != "dragoman"]
    headings = [*systems, *(f"ratio to {other}, each round (median; goal)" for other in others)]
    print(f"\n| tokens/s | {' | '.join(headings)} |\n|---|{'---|' * len(headings)}")
    for task in dict.fromkeys(name.split()[1] for name in speeds):
        cells = [f"{speeds[f'{system} {task}']:,.0f}" for system in systems]
        for other in others:
            found = ratios[f"{task} / {other}"]
            each = " ".join(f"{value:.2f}" for value in found["rounds"])
            cells.append(f"{each} ({found['median']:.2f}; {found['goal']})")
        print(f"| {task} | {' | '.join(cells)} |")


def curve(result: dict[str, Any]) -> None:
    """The error on validation data against minutes of training."""
    print(
        f"\n| {result['recipe']} on {result['set']}, minutes | validation loss | sequence error rate |\n|---|---|---|"
    )
    for point in result["curve"]:
        if point["minutes"] is not None and "sequence_error_rate" in point:
            print(f"| {point['minutes']:.1f} | {point['loss']:.3f} | {point['sequence_error_rate']:.1f} % |")


def defaults(results: list[dict[str, Any]]) -> None:
    """What the data decides beside a tuned recipe of the same size, in the same time."""
    print("\n| data | metric | tuned | chosen from the data | ratio |\n|---|---|---|---|---|")
    for chosen in (result for result in results if result["recipe"] == "defaults"):
        for tuned in results:
            same = all(tuned[name] == chosen[name] for name in ("set", "name"))
            if same and tuned["recipe"] != "defaults":
                name, ours, theirs = higher_is_better(chosen, tuned)
                print(f"| {chosen['set']} | {name} | {theirs:.2f} | {ours:.2f} | {ours / theirs:.2f} |")


def higher_is_better(chosen: dict[str, Any], tuned: dict[str, Any]) -> tuple[str, float, float]:
    """The first metric of the tuned recipe; of an error rate, what is left of 100 %."""
    name = next(iter(tuned["metrics"]))
    values = chosen["metrics"][name]["value"], tuned["metrics"][name]["value"]
    if name.endswith("error_rate"):
        return f"100 - {name}", 100 - values[0], 100 - values[1]
    return name, *values


def speeds(results: Any) -> None:
    print("\n| data | what | dragoman | plain torch | ratio |\n|---|---|---|---|---|")
    for result in results:
        found, name = result["summary"], result["set"]
        ours, plain = found["train-dragoman.tokens_per_second"], found["train-plain.tokens_per_second"]
        ratio = found["train.ratio_to_plain"]
        print(f"| {name} | training, target tokens/s | {ours:,.0f} | {plain:,.0f} | {ratio:.2f} |")
        share = found["train.share_of_ceiling"]
        print(f"| {name} | share of the matrix-product ceiling | {share:.0%} | | |")
        print(f"| {name} | data, log and checkpoints | {found['train-dragoman.overhead']:.1%} of the time | | |")
        if "greedy.ratio_to_plain" in found:
            ours, plain = found["dragoman-greedy.lines_per_second"], found["plain-greedy.lines_per_second"]
            print(f"| {name} | greedy, lines/s | {ours:,.0f} | {plain:,.0f} | {found['greedy.ratio_to_plain']:.2f} |")
            print(f"| {name} | beam 5, lines/s | {found['dragoman-beam5.lines_per_second']:,.0f} | | |")


def peers(results: Any) -> None:
    print("\n| data | training, target tokens/s | | ratio in each round | median | goal |\n|---|---|---|---|---|---|")
    for result in results:
        versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
        for column, speed in result["tokens_per_second"].items():
            print(f"| {result['set']} | {column} | {speed:,.0f} | | | |")
        for name, ratio in result["ratios"].items():
            each = " ".join(f"{one:.2f}" for one in ratio["rounds"])
            goal = "" if ratio["goal"] is None else f"{ratio['goal']:.1f}"
            print(f"| {result['set']} | {name} | | {each} | {ratio['median']:.2f} | {goal} |")
        for column, peak in result.get("peak_megabytes", {}).items():
            print(f"| {result['set']} | {column}, peak memory | {peak:,.0f} MB | | | |")
        print(f"\n{versions}; torch {result['machine']['torch']}, {result['machine']['threads']} threads.")


def decoding(result: dict[str, Any]) -> None:
    """Sentences a second beside the peers."""
    columns = list(next(iter(result["sentences_per_second"].values())))
    peers = list(next(iter(result["ratios"].values())))
    head = " | ".join((*columns, *(f"ratio to {name}, each round (median)" for name in peers)))
    print(f"\n| {result['set']}, sentences/s | {head} | goal |\n|---|{'---|' * (1 + len(columns) + len(peers))}")
    for label, speeds in result["sentences_per_second"].items():
        ratios = result["ratios"][label]
        each = [f"{' '.join(f'{one:.2f}' for one in r['rounds'])} ({r['median']:.2f})" for r in ratios.values()]
        goals = ", ".join(str(ratio["goal"] or "–") for ratio in ratios.values())
        print(f"| {label} | {' | '.join((*(f'{speed:.1f}' for speed in speeds.values()), *each))} | {goals} |")
    for what in ("as_huggingface", "peak_megabytes"):
        for name, value in result.get(what, {}).items():
            print(f"\n{what}, {name}: {value}")


def engines(result: dict[str, Any]) -> None:
    """Speed, latency, memory and quality of each engine with one model's weights."""
    labels = list(result["sentences_per_second"])
    head = " | ".join((*labels, *(f"ms at {label}: 50, 95, 99 %" for label in labels)))
    print(
        f"\n| {result['set']}, sentences/s | {head} | MB | BLEU greedy, beam 5 |\n|---|{'---|' * (2 * len(labels) + 2)}"
    )
    for column, peak in result["peak_megabytes"].items():
        speeds = [f"{result['sentences_per_second'][label][column]:.0f}" for label in labels]
        each = [result["milliseconds"][label][column].values() for label in labels]
        latencies = [", ".join(f"{one:.0f}" for one in values) for values in each]
        bleu = ", ".join(f"{value:.1f}" for value in result["bleu"].get(column, {}).values())
        print(f"| {column} | {' | '.join((*speeds, *latencies))} | {peak:.0f} | {bleu} |")
    for name, found in result["share_of_direct"].items():
        shares = (
            f"{label} {share['with_scores']:.2f} ({share['without_scores']:.2f})" for label, share in found.items()
        )
        plain = (f"{label} {share['median']:.2f}" for label, share in result["over_plain_call"][name].items())
        print(f"\n{name}, through dragoman over the same call without it (without scores): {', '.join(shares)};")
        print(f"over a plain call in a process of its own: {', '.join(plain)}.")
    print(f"\nint8: {result['int8']}")


def tricks(result: dict[str, Any]) -> None:
    """Training with each trick and without it."""
    print(f"\n| {result['set']}, target tokens/s | with | without | ratio |\n|---|---|---|---|")
    for name, found in result["tokens_per_second"].items():
        print(f"| {name} | {found['with']:,.0f} | {found['without']:,.0f} | {found['ratio']:.2f} |")


def tracing(result: dict[str, Any]) -> None:
    """Time with the question whether somebody watches over time without it."""
    print("\n| search | median of each round | of all pairs (95 %) |\n|---|---|---|")
    for label, found in result["with_over_without"].items():
        each = " ".join(f"{one:.3f}" for one in found["rounds"])
        print(f"| {label} | {each} | {found['median']:.4f} ({found['low']:.4f} … {found['high']:.4f}) |")


def searches(result: dict[str, Any]) -> None:
    """A search a row, its metrics and its seconds."""
    names = list(result["rows"][0]["metrics"])
    print(f"\n| {result['set']} | lines | {' | '.join(names)} | s a thousand lines |")
    print(f"|---|---|{'---|' * (len(names) + 1)}")
    for row in result["rows"]:
        cells = (f"{v['value']:.2f} ({v['low']:.2f} … {v['high']:.2f})" for v in row["metrics"].values())
        print(f"| {row['search']} | {row['lines']} | {' | '.join(cells)} | {row['seconds_per_thousand']:.1f} |")
        if "proved" in row:
            print(
                f"\nProved {row['proved']} of {row['lines']}; of those, a beam of 5 had found "
                f"{row['of_them_found_by_the_beam']}, and {row['of_them_empty']} are empty."
            )


def memory(results: Any) -> None:
    print("\n| pairs | file | start | peak memory | seconds to prepare |\n|---|---|---|---|---|")
    for result in results:
        for row in result["rows"]:
            start = "first" if row["first_start"] else "second"
            cells = (f"{row['pairs']:,}", f"{row['megabytes']:.0f} MB", start, f"{row['peak_megabytes']:.0f} MB")
            print(f"| {' | '.join(cells)} | {row['seconds_to_prepare']:.1f} |")


def lengths(result: dict[str, Any]) -> None:
    """A model a row, a group of sources of about the same length a column; a table a metric."""
    for metric, groups in result["lengths"].items():
        spans = [f"{group['shortest']}–{group['longest']}" for group in groups]
        print(f"\n| {result['set']}, {metric} by source tokens | {' | '.join(spans)} |\n|---|{'---|' * len(spans)}")
        for place, model in enumerate(result["models"]):
            cells = (
                f"{value['value']:.1f} ({value['low']:.1f} … {value['high']:.1f})" for value in row_of(groups, place)
            )
            print(f"| {model['name']} | {' | '.join(cells)} |")


def row_of(groups: list[dict[str, Any]], place: int) -> list[dict[str, Any]]:
    return [group["measured"][place] for group in groups]


if __name__ == "__main__":
    main()
