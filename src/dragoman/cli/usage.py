"""What is said of a command that cannot be understood: one sentence, what is nearest, and where to read on."""

import re
import sys
from typing import Any

from dragoman.errors import nearest


def sentence(error: Any) -> str:
    """The sentence for a usage error of typer, whose classes lie elsewhere from version to version."""
    context, given = getattr(error, "ctx", None), sys.argv[1:]
    path = context.command_path if context is not None else command_path(given)
    return f"{path}: {what(error, given)} See `{path} --help`."


def what(error: Any, given: list[str]) -> str:
    told = str(error.format_message())
    match type(error).__name__:
        case "NoSuchOption":
            known = [option for parameter in error.ctx.command.params for option in parameter.opts]
            return f"There is no option {error.option_name}.{nearest(error.option_name, [*known, '--help'])}"
        case "MissingParameter":
            return f"{name_of(error.param)} is missing: {lower_first(error.param.help)}"
        case "BadParameter" if (wanted := wanted_type(told)) and error.param is not None:
            return f"{name_of(error.param)} must be {wanted}, not '{value_of(error.param.opts, given)}'."
    if unknown := re.match(r"No such command '(.*?)'", told):
        verbs = [name for name, command in error.ctx.command.commands.items() if not command.hidden]
        return f"There is no verb '{unknown[1]}'.{nearest(unknown[1], verbs)} Verbs: {', '.join(verbs)}."
    if extra := re.match(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", told):
        return f"'{extra[1]}' is too much: the command is {error.ctx.command_path} {' '.join(arguments_of(error.ctx))}."
    if option := re.match(r"Option '(.*?)' (requires an argument|does not take a value)", told):
        return f"{option[1]} {'needs a value' if 'requires' in option[2] else 'takes no value'}."
    return told if told.endswith((".", "?")) else f"{told}."


def command_path(given: list[str]) -> str:
    """dragoman, and the verb if there is one."""
    return " ".join(["dragoman", *[word for word in given if not word.startswith("-")][:1]])


def name_of(parameter: Any) -> str:
    """--beam, or RUN."""
    if parameter.param_type_name == "option":
        return str(parameter.opts[0])
    return str(parameter.metavar or parameter.name).upper()


def arguments_of(context: Any) -> list[str]:
    """RUN [FILE]: the arguments of a verb."""
    arguments = [parameter for parameter in context.command.params if parameter.param_type_name == "argument"]
    names = [name_of(argument) + ("…" if argument.nargs == -1 else "") for argument in arguments]
    return [name if argument.required else f"[{name}]" for name, argument in zip(names, arguments, strict=True)]


def lower_first(text: str | None) -> str:
    """The help of an option as the end of a sentence."""
    plain = (text or "").strip()
    return plain if plain[1:2].isupper() else plain[:1].lower() + plain[1:]


def wanted_type(told: str) -> str:
    """What typer asks for, in our words."""
    if bound := re.search(r"greater than or equal to (\d+)", told):
        return f"at least {bound[1]}"
    if choices := re.search(r"is not one of ('.*')", told):
        return f"one of {choices[1]}"
    if "integer" in told:
        return "a whole number"
    return "a number" if "number" in told or "float" in told else ""


def value_of(options: list[str], given: list[str]) -> str:
    """What was given for an option."""
    for place, word in enumerate(given):
        name, equals, value = word.partition("=")
        if name in options:
            return value if equals else next(iter(given[place + 1 :]), "")
    return ""
