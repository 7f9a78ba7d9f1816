"""Write `docs/reference/command-line.md` from the help of the commands: `make reference`."""

import re
from collections.abc import Callable
from enum import EnumMeta
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

from crewgraph.cli.app import app

PAGE = Path(__file__).parent.parent / "reference" / "command-line.md"

_HEAD = """\
# Command line

`crewgraph COMMAND`, or `python -m crewgraph COMMAND`. `crewgraph COMMAND --help` shows the same text in a terminal.

Commands that take `--target` work on the project in the current directory without it. [Projects](../projects.md)
"""


def page() -> str:
    """Return the page."""
    group: Any = typer.main.get_command(app)
    commands = group.commands
    rows = [f"| [`{name}`](#{name}) | {_summary(commands[name])} |" for name in commands]
    table = "\n".join(["| command | what it does |", "|---|---|", *rows])
    functions = [command.callback for command in app.registered_commands]
    sections = [_section(name, commands[name], function) for name, function in zip(commands, functions, strict=True)]
    return "\n".join([_HEAD, table, "", *sections])


def _section(name: str, command: Any, function: Any) -> str:
    choices = _choices(function)
    arguments = [item for item in command.params if item.param_type_name == "argument"]
    options = [item for item in command.params if item.param_type_name == "option"]
    words = [_placeholder(item, choices.get(item.name)) for item in arguments]
    usage = " ".join(["crewgraph", name, *(["[OPTIONS]"] if options else []), *words])
    parts = [f"## {name}", f"```text\n{usage}\n```", _prose(command.help)]
    if arguments:
        parts.append(_table("argument", [(item.name, item) for item in arguments]))
    if options:
        parts.append(_table("option", [(_flags(item, choices.get(item.name)), item) for item in options]))
    examples = [line.strip() for line in command.epilog.splitlines()[2:]]
    parts.append("\n".join(["```bash", *examples, "```"]))
    return "\n\n".join(parts) + "\n"


def _summary(command: Any) -> str:
    return command.help.split("\n\n")[0].replace("\n", " ").strip()


def _prose(text: str) -> str:
    """Return the paragraphs of a help text, with the names of options as code."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    return _with_code("\n\n".join(paragraphs))


def _with_code(text: str) -> str:
    """Mark the names of options as code, except where something is marked already."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"(?<![\w-])(--?[a-z][\w-]*|__main__)", r"`\1`", part) for part in parts[::2]]
    return "`".join(parts)


def _choices(function: Callable[..., object]) -> dict[str, str]:
    """Return the values to choose from, by parameter."""
    hints = get_type_hints(function)
    kinds = {
        name: [kind for kind in (hint, *get_args(hint)) if isinstance(kind, EnumMeta)] for name, hint in hints.items()
    }
    return {name: "|".join(str(item.value) for item in found[0]) for name, found in kinds.items() if found}


def _placeholder(argument: Any, choices: str | None) -> str:
    name = choices or argument.name.upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _flags(option: Any, choices: str | None) -> str:
    name = max(option.opts, key=len).lstrip("-").replace("-", "_").upper()
    value = "" if option.is_flag else f" {choices or option.metavar or name}"
    return f"{', '.join(option.opts)}{value}"


def _table(kind: str, rows: list[tuple[str, Any]]) -> str:
    lines = [f"| {kind} | meaning | default |", "|---|---|---|"]
    return "\n".join(
        [*lines, *(f"| `{_cell(name)}` | {_cell(_with_code(item.help))} | {_default(item)} |" for name, item in rows)]
    )


def _default(item: Any) -> str:
    if item.required:
        return "required"
    variable = getattr(item, "envvar", None)
    if variable:
        return f"[`{variable}`](environment.md)"
    shown = item.default is not None and getattr(item, "show_default", True) and not getattr(item, "is_flag", False)
    value = getattr(item.default, "value", item.default)
    return f"`{value}`" if shown else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
