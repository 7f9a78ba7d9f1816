"""The text of a program: imports, ordered sections, names, and readable literals for prompts."""

import ast
import builtins
import keyword
import re
import textwrap
import unicodedata
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from crewgraph.text import slug


def class_name(text: str) -> str:
    """Convert a text to a class name."""
    return "".join(part[:1].upper() + part[1:] for part in slug(text).split("_"))


def snake_case(text: str) -> str:
    """Convert a text or a class name to a function name."""
    return slug(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text))


_USED_BUILTINS = frozenset(
    {
        *(
            "Exception",
            "ValueError",
            "any",
            "bool",
            "dict",
            "enumerate",
            "float",
            "getattr",
            "input",
            "int",
            "isinstance",
        ),
        *(
            "len",
            "list",
            "next",
            "object",
            "print",
            "range",
            "reversed",
            "set",
            "sorted",
            "str",
            "tuple",
            "type",
            "zip",
        ),
    }
)
"""Builtins that the generated code may use."""


class UniqueNames:
    """The top-level names of a program.

    Args:
        reserved: names reserved for the user's code.
    """

    def __init__(self, reserved: Collection[str] = ()) -> None:
        self._taken: set[str] = set(keyword.kwlist) | set(dir(builtins))
        self._reserved = frozenset(reserved)

    def take(self, name: str) -> None:
        """Reserve a name."""
        self._taken.add(name)

    def is_taken(self, name: str) -> bool:
        """Return whether a name is used; the user may define names of builtins that the program does not use itself."""
        return name in self._taken and (name in _USED_BUILTINS or name not in dir(builtins))

    def new(self, wanted: str, otherwise: str = "") -> str:
        """Return an unused name similar to the wanted one.

        Args:
            wanted: the preferred name.
            otherwise: the suffix to try first if it is taken.
        """
        base = _identifier(wanted)
        choices = [base, f"{base}{otherwise}"] if otherwise else [base]
        number = 2
        taken = self._taken | self._reserved
        while all(choice in taken for choice in choices):
            choices, number = [f"{base}_{number}"], number + 1
        name = next(choice for choice in choices if choice not in taken)
        self._taken.add(name)
        return name


def _identifier(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).replace("-", "_")
    remaining = "".join(c if c.isidentifier() or c.isdigit() else "_" for c in plain)
    return remaining if remaining.isidentifier() else f"n{remaining}"


@dataclass
class ProgramText:
    """A program under construction."""

    about: str
    """The docstring of the program."""

    names: UniqueNames = field(default_factory=UniqueNames)
    todo: list[str] = field(default_factory=list[str])
    """The tasks left to the user."""

    notes: list[str] = field(default_factory=list[str])
    """Notes for the user on the program."""

    _modules: dict[str, None] = field(default_factory=dict[str, None])
    _from: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    _parts: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    _rank: int | None = None
    _helpers: dict[str, str] = field(default_factory=dict[str, str])

    def module(self, name: str, alias: str | None = None) -> None:
        """Import a module."""
        self.names.take(alias or name.partition(".")[0])
        self._modules[f"{name} as {alias}" if alias and alias != name else name] = None

    def use(self, module: str, *names: str) -> None:
        """Import names from a module; accepts "a as b"."""
        for name in names:
            self.names.take(name.rpartition(" as ")[2])
            self._from.setdefault(module, {})[name] = None

    def imports(self, module: str, name: str) -> bool:
        """Return whether a name is imported from a module."""
        return name in self._from.get(module, ())

    def add(self, part: str, rank: int = 5) -> None:
        """Add a function, a class, or lines; parts of a lower rank come first."""
        self._parts.append((rank if self._rank is None else min(rank, self._rank), part.strip("\n")))

    @contextmanager
    def together(self, rank: int) -> Generator[None]:
        """Keep the parts added within the block together, in their order, with no rank above this one."""
        before, self._rank = self._rank, rank
        try:
            yield
        finally:
            self._rank = before

    def helper(self, name: str) -> str | None:
        """Return the name of a helper here, or None if it is not written yet."""
        return self._helpers.get(name)

    def name_helper(self, name: str, called: str) -> None:
        """Record the name of a helper."""
        self._helpers[name] = called

    def written(self) -> str:
        """Return the source of the program."""
        parts = [text for _, text in sorted(self._parts, key=lambda part: part[0])]
        return "\n\n".join([f'"""{self.about}"""', self._imports(), *_spaced(parts)]).rstrip() + "\n"

    def _imports(self) -> str:
        lines = [f"import {name}" for name in self._modules]
        lines += [f"from {module} import {', '.join(sorted(names))}" for module, names in self._from.items()]
        future = [line for line in lines if line.startswith("from __future__")]
        return "\n".join([*future, *sorted((line for line in lines if line not in future), key=str.lower)])


def _spaced(parts: list[str]) -> list[str]:
    """Separate parts with two blank lines around functions and classes."""
    return [f"\n{part}" if part.startswith(("def ", "class ", "@", "async def ")) else part for part in parts]


_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_\-]*)\}")
_WIDTH = 110
_SLOT = "\x00{}\x01"


def slot_template(text: str, values: Mapping[str, str]) -> str:
    """Return a text as a `str.format` template with slots for the values; other braces are escaped."""

    def slot(match: re.Match[str]) -> str:
        return _SLOT.format(match[1].replace("-", "_")) if match[1] in values else match[0]

    marked = _PLACEHOLDER.sub(slot, text)
    if marked == text:
        return text
    return marked.replace("{", "{{").replace("}", "}}").replace("\x00", "{").replace("\x01", "}")


def fill_slots(name: str, text: str, values: Mapping[str, str]) -> str:
    """Return the expression for a text with its slots filled.

    Args:
        name: the constant that holds the text.
        text: the original text.
        values: expressions by placeholder name.
    """
    used = dict.fromkeys(result for result in _PLACEHOLDER.findall(text) if result in values)
    value = ", ".join(f"{item.replace('-', '_')}={values[item]}" for item in used)
    return f"{name}.format({value})" if value else name


def string_literal(text: str) -> str:
    """Return a text as a literal, split into lines of limited length."""
    if "\n" not in text and len(text) <= _WIDTH - 10:
        return _quoted(text)
    lines: list[str] = []
    for line in text.split("\n"):
        lines += _wrapped(_escaped(line))
    body = "\n".join(lines)
    if body.endswith('"'):
        body = f'{body[:-1]}\\"'
    return f'"""\\\n{body}"""'


def doc_line(text: str, limit: int = 90) -> str:
    """Return a text as a one-line docstring."""
    line = " ".join(text.replace("\\", "/").replace('"', "'").split())
    line = line if len(line) <= limit else f"{line[: limit - 3].rstrip()}..."
    line = line[:1].upper() + line[1:]
    return line if line.endswith((".", "?", "!")) else f"{line}."


def _quoted(text: str) -> str:
    if '"' in text and "'" not in text and text.isprintable() and "\\" not in text:
        return f"'{text}'"
    return '"' + "".join(_safe(c) for c in text).replace('"', '\\"') + '"'


def _escaped(line: str) -> str:
    escaped = "".join(_safe(c) for c in line).replace('"""', '\\"\\"\\"')
    # Blanks at the end would be lost to editors.
    return f"{escaped[:-1]}\\x20" if escaped.endswith(" ") else escaped


def _safe(c: str) -> str:
    if c == "\\":
        return "\\\\"
    return c if c.isprintable() else c.encode("unicode_escape").decode()


def _wrapped(line: str) -> list[str]:
    """Split a line into several, joined by trailing backslashes."""
    if len(line) <= _WIDTH:
        return [line]
    pieces = textwrap.wrap(
        line,
        _WIDTH,
        drop_whitespace=False,
        replace_whitespace=False,
        expand_tabs=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [*(f"{piece}\\" for piece in pieces[:-1]), pieces[-1]]


_JSON = re.compile(r"\.json\b(?!\s*\()")

_TO_DICT = '''
    def to_dict(self) -> dict[str, Any]:
        """Return the structured output; empty if there is none."""
        return {result}
'''
_ITEM = '''
    def __getitem__(self, field: str) -> Any:
        """Return a field of the structured output."""
        return {result}
'''
_AS_JSON = '''
    @property
    def json(self) -> str:
        """The structured output as JSON."""
        return json.dumps(self.to_dict())
'''


def output_methods(sources: Sequence[str], fields: Sequence[str]) -> tuple[str, list[str]]:
    """Return the methods that an output class needs, and the modules that these use.

    Args:
        sources: The functions that receive outputs.
        fields: The fields of the class that may hold the structure: `pydantic`, `json_dict`.
    """
    has_items = any(_reads_item(text) for text in sources)
    has_json = any(_JSON.search(text) for text in sources)
    if not has_items and not has_json and not any(".to_dict(" in text for text in sources):
        return "", []
    dumped = [f"self.{field}" if field == "json_dict" else f"self.{field}.model_dump()" for field in fields]
    chosen = [f"{value} if self.{field} is not None else" for field, value in zip(fields, dumped, strict=True)]
    methods = _TO_DICT.format(result=" ".join([*chosen, "{}"]))
    if has_items:
        item = "self.to_dict()[field]"
        if "pydantic" in fields:
            item = f"{item} if self.pydantic is None else getattr(self.pydantic, field)"
        methods += _ITEM.format(result=item)
    return methods + (_AS_JSON if has_json else ""), ["json"] if has_json else []


def _reads_item(text: str) -> bool:
    """Whether a source reads an item of a possible output by a constant key."""
    tree = ast.parse(text)
    outputs = {"output", "result"} | {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_kickoff(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    outputs |= {
        node.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.arg) and node.annotation is not None and "Output" in ast.unparse(node.annotation)
    }
    return any(
        isinstance(node.value, ast.Name)
        and node.value.id in outputs
        or _is_kickoff(node.value)
        or isinstance(node.value, ast.Subscript)
        and ".tasks_output" in ast.unparse(node.value)
        for node in _subscripts(tree)
    )


def _subscripts(tree: ast.AST) -> Iterator[ast.Subscript]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            continue
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            yield node


def _is_kickoff(node: ast.expr) -> bool:
    """Whether an expression calls a function that runs a crew or an agent."""
    if isinstance(node, ast.Await):
        node = node.value
    if not isinstance(node, ast.Call):
        return False
    return ast.unparse(node.func).startswith(("kickoff_", "akickoff_", "ask_"))
