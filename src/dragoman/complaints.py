"""Sentences for settings that do not fit: what is wrong, where, what is allowed, what is nearest."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from dragoman.errors import nearest

WANTED = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "bool": "true or false",
    "string": 'a text, e.g. "abc"',
    "tuple": 'a list, e.g. ["a", "b"]',
    "list": 'a list, e.g. ["a", "b"]',
}
BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
TABLES = ("dict", "model")
ANOTHER_KIND = "here the kind is another."
READS_LETTERS = "reads the letters of words"


def sentence(
    problem: ErrorDetails, path: tuple[str, ...], where: str, fields: Mapping[str, FieldInfo], kinds: Sequence[str] = ()
) -> str:
    """One problem in words; `fields` are those of the table that the last key of the path belongs to, `kinds` those of
    the table's kinds that do have such a key."""
    name = ".".join(path) or "the config"
    context: Mapping[str, Any] = problem.get("ctx", {})
    got = shortened(problem["input"])
    match problem["type"]:
        case "extra_forbidden" if kinds:
            table = ".".join(path[:-1])
            return f"{name} belongs to {table}.kind = {' or '.join(kinds)}{where}; {ANOTHER_KIND}"
        case "extra_forbidden":
            close = nearest(path[-1], fields)
            return f"No setting is called '{name}'{where}.{close} Known here: {', '.join(sorted(fields))}."
        case "union_tag_invalid":
            kinds = re.findall(r"'([^']*)'", str(context.get("expected_tags", "")))
            tag = str(context.get("tag", ""))
            return f"No {path[-1]} is called '{tag}'{where}.{nearest(tag, kinds)} Known: {', '.join(sorted(kinds))}."
        case "literal_error":
            allowed = str(context.get("expected", ""))
            close = nearest(str(problem["input"]), re.findall(r"'([^']*)'", allowed))
            return f"{name} must be {allowed}, not {got}{where}.{close}"
        case "value_error" if not path:  # of several settings together, which the message names
            return f"{problem['msg'].removeprefix('Value error, ').removesuffix('.')}."
        case "value_error":
            return f"{name}: {problem['msg'].removeprefix('Value error, ').removesuffix('.')}{where}."
        case kind if kind.split("_")[0] in TABLES:
            example = "kind" if isinstance(problem["input"], str) else "key"
            given = problem["input"] if isinstance(problem["input"], str) else "value"
            return f"{name} is a table of settings, not {got}{where}. Write one of them, e.g. {name}.{example}={given}."
    return f"{name} must be {wanted(problem, context)}, not {got}{where}.{meaning(path, fields)}"


def wanted(problem: ErrorDetails, context: Mapping[str, Any]) -> str:
    """What is allowed: a type, or the bound that was crossed."""
    kind = problem["type"]
    if kind in BOUNDS:
        bound, words = BOUNDS[kind]
        value = context[bound]
        return f"{words} {int(value) if value == int(value) else value}"
    if kind in ("missing", "too_short"):
        return "a list of more values"
    if kind == "too_long":
        return f"a list of {context['max_length']} values at most"
    plain = problem["msg"].removeprefix("Input should be ")
    return WANTED.get(kind.split("_")[0], plain)


def meaning(path: tuple[str, ...], fields: Mapping[str, FieldInfo]) -> str:
    """The explanation of a setting, which tells what its number counts."""
    name = path[-1] if path else ""
    text = " ".join((fields[name].description or "").split()) if name in fields else ""
    return f" It means: {text.rstrip('.')}." if text else ""


def shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def of_another_kind(complaints: str) -> list[str]:
    """The settings of which nothing else is said than that they belong to another kind of their part; none if any
    other complaint is among them."""
    lines = complaints.splitlines()
    return [line.split(" ")[0] for line in lines] if all(line.endswith(ANOTHER_KIND) for line in lines) else []
