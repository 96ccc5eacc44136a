"""Metrics as the field writes them."""

WRITTEN = {
    "bleu": "BLEU",
    "bleu_lowercase": "BLEU, lower-cased",
    "chrf": "chrF",
    "ter": "TER",
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "binary_f1": "binary F1",
    "span_f1": "span F1",
    "f1": "F1",
    "matthews": "Matthews",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "ade": "ADE",
    "fde": "FDE",
    "rmse": "RMSE",
}


def written(name: str) -> str:
    """The name of a metric in a sentence; a unit in brackets stays as it is."""
    plain, space, unit = name.partition(" ")
    return WRITTEN.get(plain, plain.replace("_", " ")) + space + unit
