"""Texts of models, documents and templates are read in linear time: every regular expression, and the functions around them."""

import ast
import gc
import importlib
import pkgutil
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import crewgraph_compat
import pytest
from combinations import of
from crewgraph_compat.moving.dependencies.requirements import (
    environment_places,
    pipfile_lines,
    requirements_places,
    setup_cfg_places,
)

import crewgraph
from crewgraph.compiler.agent.plan import _parse_plan  # pyright: ignore[reportPrivateUsage]
from crewgraph.compiler.agent.protocol import final_text, parse_reply
from crewgraph.contrib.declared.json_crews import strip_jsonc_comments
from crewgraph.core.messages import Reply
from crewgraph.definitions.placeholders import render_template, split_at_slot
from crewgraph.errors import DefinitionError
from crewgraph.knowledge.passage import markdown_sections, split_chunks
from crewgraph.memory.items import extract_entities
from crewgraph.observe.event_lines import truncate_block, truncate_line
from crewgraph.project.env_file import _parse_line  # pyright: ignore[reportPrivateUsage]
from crewgraph.prompts.i18n import fill_placeholders
from crewgraph.schema import _parameter_descriptions  # pyright: ignore[reportPrivateUsage]
from crewgraph.text import extract_json, fill, fill_path, model_name, placeholders, printable, slug

# Python's own parser of regular expressions: what a pattern is made of, to write the texts that suit it worst.
parser: Any = importlib.import_module("re._parser")
op: Any = importlib.import_module("re._constants")

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the clock that stops a match is Unix's")

SHORT = 1 << 13  # characters: a quadratic pattern takes milliseconds for them, a linear one less than one
LONG = of(1 << 17, 1 << 20)  # characters
MILDEST = r"<meta[^>]+charset"  # of the quadratic patterns: it passes over four characters of five
MEASURABLE = 0.02  # seconds of CPU
AT_MOST = 0.3  # seconds of CPU for `SHORT` characters
AT_MOST_LONG = of(2, 8)  # seconds of CPU for `LONG` characters
GROWTH = 8  # for four times the length: linear is 4, quadratic is 16

COMPUTED = {
    "crewgraph/contrib/skills/skill.py": r"^[\"']?name[\"']?[ \t]*:",
    "crewgraph/compiler/agent/toolbox.py": re.escape("words (2)"),
    "crewgraph/redaction.py": "secret-1|secret-2",
    "crewgraph/definitions/placeholders.py": r"\{\{\s*+\.System\s*+\}\}",
}
"""Patterns that a function makes of a value, with an example: any other stands at the top of its module."""

ONLY_WHOLE = frozenset({"crewgraph_compat.moving.differences._FORMS"})
"""Patterns in tables, which are matched at the start of a text only."""


class Stopped(Exception):
    """The CPU time is used up."""


def cpu(work: Callable[[], object], limit: float) -> float:
    """The CPU seconds that some work takes; `limit` if it had to be stopped.

    They are those of the thread: the clock of the process only ticks as long as a timer runs on it.
    """

    def stop(*_: object) -> None:
        raise Stopped

    gc.disable()  # its callbacks would swallow what `stop` raises
    before = signal.signal(signal.SIGVTALRM, stop)
    start = time.thread_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        work()
        return time.thread_time() - start
    except Stopped:
        return limit
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        gc.enable()


@dataclass(frozen=True)
class Slow:
    """A text that takes more than its share of time."""

    family: str
    seconds: float
    characters: int


def slowest(work: Callable[[str], object], families: Iterable[tuple[str, Callable[[int], str]]]) -> Slow | None:
    """The first family of texts on which the time grows faster than the length; None if all were read in time, long ones, too."""
    worst, worst_family = 0.0, None
    for name, text_of in families:
        text = text_of(SHORT)
        took = cpu(lambda text=text: work(text), AT_MOST)
        if took >= AT_MOST or (took > noticeable() and seems_to_grow(work, text_of) and not is_linear(work, text_of)):
            return Slow(name, took, SHORT)
        if took >= worst:
            worst, worst_family = took, (name, text_of)
    assert worst_family is not None
    name, text_of = worst_family
    text = text_of(LONG)
    took = cpu(lambda: work(text), AT_MOST_LONG)
    return Slow(name, took, LONG) if took >= AT_MOST_LONG else None


@cache
def noticeable() -> float:
    """CPU seconds for `SHORT` characters beyond which the growth is looked at: half of what a quadratic pattern takes here."""
    text = repeated("<meta")(SHORT)
    return least(lambda: re.search(MILDEST, text), AT_MOST) / 2


def seems_to_grow(work: Callable[[str], object], text_of: Callable[[int], str]) -> bool:
    """Whether a text of twice the length takes much more than twice the time: a short look, which noise may deceive."""
    text, double = text_of(SHORT), text_of(2 * SHORT)
    took = least(lambda: work(text), AT_MOST)
    return cpu(lambda: work(double), 3 * took) >= 2.7 * took


def is_linear(work: Callable[[str], object], text_of: Callable[[int], str]) -> bool:
    """Whether the time grows with the length: looked at where it is long enough to be measured, in several tries.

    The first may also pay for memory that the process has not had yet.
    """

    def seconds(length: int) -> float:
        text = text_of(length)
        return least(lambda: work(text), AT_MOST)

    length = SHORT
    while seconds(length) < MEASURABLE:
        if length >= LONG:
            return True
        length *= 2
    text, longer = text_of(length), text_of(4 * length)
    limit = GROWTH * least(lambda: work(text), AT_MOST)
    return any(cpu(lambda: work(longer), limit) < limit for _ in range(5))


def least(work: Callable[[], object], limit: float) -> float:
    """The CPU seconds of the fastest of three times: noise only adds."""
    return min(cpu(work, limit) for _ in range(3))


@dataclass
class Found:
    """A pattern, where it was found, and whether it is searched for or only matched at the start."""

    pattern: re.Pattern[Any]
    where: str
    is_searched: bool


def modules() -> Iterator[ModuleType]:
    for package in (crewgraph, crewgraph_compat):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".templates" not in info.name and not info.name.endswith("__main__"):
                yield importlib.import_module(info.name)


def found_patterns() -> list[Found]:
    """All patterns that modules of the packages hold, by their names, in tables and as bound methods; and those in functions."""
    found: dict[tuple[object, int], Found] = {}
    for module in modules():
        source = Path(str(module.__file__)).read_text("utf-8")
        for name, value in list(vars(module).items()):
            for pattern in patterns_in(value):
                where = f"{module.__name__}.{name}"
                uses = set(re.findall(rf"\b{name}\.(\w+)\(", source))
                at_start = where in ONLY_WHOLE or bool(uses) and uses <= {"match", "fullmatch"}
                keep(found, Found(pattern, where, not at_start))
        for call in pattern_calls(ast.parse(source)):
            where = f"{module.__name__}:{call.lineno}"
            text: Any = getattr(call.args[0], "value", None)
            if isinstance(call.args[0], ast.Constant) and inside_function(call):
                is_searched = ast.unparse(call.func) not in {"re.match", "re.fullmatch"}
                keep(found, Found(re.compile(text, flags_of(call)), where, is_searched))
    for file, example in COMPUTED.items():
        keep(found, Found(re.compile(example, re.MULTILINE), file, True))
    return list(found.values())


def keep(found: dict[tuple[object, int], Found], item: Found) -> None:
    known = found.setdefault((item.pattern.pattern, item.pattern.flags), item)
    known.is_searched |= item.is_searched


def patterns_in(value: object, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    owner = getattr(value, "__self__", None)
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(owner, re.Pattern):
        yield owner
    elif depth and isinstance(value, (dict, list, tuple, set, frozenset)):
        for item in held_by(value):
            yield from patterns_in(item, depth - 1)


def held_by(value: Any) -> list[Any]:
    return [*value, *value.values()] if isinstance(value, dict) else [*value]


def pattern_calls(tree: ast.Module) -> Iterator[ast.Call]:
    """The calls of `re.compile`, `re.sub` ... in a module; those in functions are marked."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for inner in ast.walk(node):
                inner.__dict__["in_function"] = True
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name), args=[_, *_]):
                if name in {"compile", "match", "fullmatch", "search", "sub", "subn", "findall", "finditer", "split"}:
                    yield node
            case _:
                pass


def inside_function(call: ast.Call) -> bool:
    return "in_function" in call.__dict__


def flags_of(call: ast.Call) -> int:
    names = [node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)]
    return sum({int(getattr(re, name)) for name in names if isinstance(getattr(re, name, None), re.RegexFlag)})


CATEGORIES = {op.CATEGORY_DIGIT: "1", op.CATEGORY_SPACE: " ", op.CATEGORY_WORD: "a"}
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
COMMON = " \n\ta1`\"'[]{}()<>-_*#\\\r"[: of(5, 24)]  # characters whose runs every pattern is given, besides its own
SAMPLES = of(3, 8)  # beginnings of a pattern that are repeated, and followed by runs


def member(code: Any, value: Any) -> str:
    if code is op.RANGE:
        return chr(value[0])
    return CATEGORIES.get(value, "!") if code is op.CATEGORY else chr(value)


def members(parts: Any) -> list[str]:
    if parts[0][0] is op.NEGATE:
        left_out = {member(*part) for part in parts[1:]}
        return [next(char for char in "ab1 \n!" if char not in left_out), *sorted(left_out)]
    return [member(*part) for part in parts]


def characters(tree: Any) -> set[str]:
    """One character of each class in a pattern."""
    found: set[str] = set()
    for code, value in tree:
        if code in (op.LITERAL, op.NOT_LITERAL):
            found.add(chr(value))
        elif code is op.ANY:
            found.add("a")
        elif code is op.IN:
            found.update(members(value))
        else:
            for inner in inner_trees(code, value):
                found |= characters(inner)
    return found


def inner_trees(code: Any, value: Any) -> list[Any]:
    if code is op.BRANCH:
        return list(value[1])
    if code in REPEATS:
        return [value[2]]
    if code is op.SUBPATTERN:
        return [value[3]]
    if code is op.ATOMIC_GROUP:
        return [value]
    return [value[1]] if code in (op.ASSERT, op.ASSERT_NOT) else []


def samples(tree: Any) -> tuple[list[str], set[str]]:
    """Texts that fit a pattern, and all their beginnings."""
    whole, beginnings = [""], set[str]()
    for code, value in tree:
        following: list[str] = []
        if code is op.LITERAL:
            following = [chr(value)]
        elif code is op.NOT_LITERAL:
            following = ["a" if value != ord("a") else "b"]
        elif code is op.ANY:
            following = ["a"]
        elif code is op.IN:
            following = members(value)[:1]
        elif code is not op.ASSERT_NOT:
            for inner in inner_trees(code, value):
                complete, partial = samples(inner)
                times = max(1, value[0]) if code in REPEATS else 1
                following += [text * times for text in complete]
                beginnings |= {first + text for first in whole[:4] for text in partial}
            if code in REPEATS and value[0] == 0:
                following.append("")
        whole = list(dict.fromkeys(first + text for first in whole for text in following or [""]))[:SAMPLES]
        beginnings |= set(whole)
    return whole, beginnings


def repeated(unit: str, end: str = "") -> Callable[[int], str]:
    return lambda length: (unit * (length // len(unit) + 1))[: length - len(end)] + end


def started(start: str, char: str) -> Callable[[int], str]:
    return lambda length: start + char * (length - len(start) - 1) + "\0"


def families_of(pattern: re.Pattern[Any]) -> Iterator[tuple[str, Callable[[int], str]]]:
    """Runs of each character, each beginning over and over, and each beginning with a run behind it that leads nowhere."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~int(re.UNICODE))
    own = characters(tree)
    for char in sorted(own | set(COMMON)):
        yield f"{char!r} repeated", repeated(char)
    beginnings = sorted({text for text in samples(tree)[1] if text}, key=lambda text: (len(text), text))
    for text in [*beginnings[:: len(beginnings) // SAMPLES + 1], *beginnings[-1:]]:
        yield f"{text!r} repeated", repeated(text)
        yield f"{text!r} on each line", repeated(f"{text}\n")
        for char in [*sorted(own)[:5], " ", "\n"]:
            yield f"{text!r}, then {char!r} repeated", started(text, char)


def reader(item: Found) -> Callable[[str], object]:
    pattern: Any = item.pattern
    encodes = isinstance(pattern.pattern, bytes)

    def read(text: str) -> None:
        given = text.encode() if encodes else text
        if item.is_searched:
            deque(pattern.finditer(given), 0)
        else:
            pattern.match(given)
            pattern.fullmatch(given)

    return read


def test_every_pattern_of_the_packages_reads_any_text_in_linear_time() -> None:
    found = found_patterns()
    assert len(found) > 100  # the walk finds them
    slow = {
        item.where: text for item in found if (text := slowest(reader(item), families_of(item.pattern))) is not None
    }
    assert slow == {}


def test_no_possessive_quantifier_follows_a_group() -> None:
    # Python before 3.11.5 matches what is no match there, and loses or adds characters: `(?>(?:...)*)` says the same.
    single = {op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN, op.CATEGORY}

    def holds_one(tree: Any) -> bool:
        return any(
            (code is op.POSSESSIVE_REPEAT and (len(value[2]) > 1 or value[2][0][0] not in single))
            or any(holds_one(inner) for inner in inner_trees(code, value))
            for code, value in tree
        )

    assert holds_one(parser.parse(r"a(?:b\s)*+"))
    wrong = {
        item.where for item in found_patterns() if holds_one(parser.parse(item.pattern.pattern, item.pattern.flags))
    }
    assert wrong == set()


def test_the_measurement_tells_a_quadratic_pattern() -> None:
    for text in (r"\s*\bREADY", MILDEST, r"(a|a)*b", r"^x\s*\d*\s*y$"):
        assert slowest(reader(Found(re.compile(text), text, True)), families_of(re.compile(text))) is not None, text


def test_a_pattern_made_of_a_value_is_known_to_this_test() -> None:
    computed: set[str] = set()
    for module in modules():
        file = Path(str(module.__file__))
        for call in pattern_calls(ast.parse(file.read_text("utf-8"))):
            if inside_function(call) and not isinstance(call.args[0], ast.Constant):
                computed.add(module.__name__.replace(".", "/") + ".py")
    assert computed == {*COMPUTED, "crewgraph/compiler/agent/protocol.py"}  # whose patterns its module holds


UNITS = (
    *(
        " ",
        "\n",
        "\t",
        "\r\n",
        "\u3000",
        "`",
        "```",
        "~~~\n",
        "```json\n",
        "#",
        "# ",
        "- ",
        "* ",
        "_",
        "-",
        ".",
        ",",
        ":",
    ),
    *(
        "[",
        "]",
        "{",
        "}",
        "{}",
        "[]",
        "[{",
        '{"',
        '["',
        "{'",
        '"',
        "'",
        '\\"',
        "\\",
        '{"a":',
        "[1,",
        "{a}",
        "{{",
        "{{ .",
        "}}",
    ),
    *(
        "(",
        "()",
        "<",
        "<meta",
        "/*",
        "//",
        '"\\"',
        "1",
        "1.",
        "-1e",
        "a",
        "A",
        "Aa",
        "a_",
        "aB",
        "é",
        "あ",
        "The ",
        "Of The ",
        "“x”",
    ),
    *("Thought:", "Thought: x\n", "Action:", "Action: a\n", "Action 1 Input: b\n", "Action: a\nAction Input: b\n"),
    *(
        "Final Answer:",
        "**Final Answer:**",
        "Observation:\n",
        "READY",
        "NOT ",
        "NOT READY ",
        "READY\n",
        "Args:\n",
        "x (y): z\n",
    ),
    *(
        ":param x",
        ":param ",
        "    a: b\n",
        "export ",
        "A=",
        "A= b",
        "A='b' ",
        "A b #c ",
        "; ",
        "crewai[",
        "[ a ",
        "a = b ",
    ),
)


def reply(text: str) -> Reply:
    return {"content": text, "tool_calls": [], "usage": None, "extra": {}}


def refused(work: Callable[[], object]) -> None:
    """Do something that may well refuse the text."""
    with suppress(DefinitionError):
        work()


READERS: dict[str, Callable[[str], object]] = {
    "an answer with tools": lambda text: parse_reply(reply(text), tools_offered=True),
    "an answer behind a label": lambda text: parse_reply(reply(f"**Final Answer:** {text}```"), tools_offered=True),
    "an action with its input": lambda text: parse_reply(reply(f"Action: a\nAction Input: {text}"), tools_offered=True),
    "an answer without tools": lambda text: final_text(reply(text)),
    "a plan that is ready": lambda text: _parse_plan(reply(f"{text}READY"), None),
    "JSON in a text": extract_json,
    "JSON behind a bracket": lambda text: extract_json(f'x {{"a": {text}'),
    "placeholders": placeholders,
    "a filled text": lambda text: refused(lambda: fill(text, {"a": "b"}, where="a text")),
    "an inserted text": lambda text: fill("{a}", {"a": text}, where="a text"),
    "a filled path": lambda text: fill_path("{a}", {"a": text}, where="a path"),
    "a prompt": lambda text: fill_placeholders(text, a="b"),
    "a template": lambda text: (render_template(text, "System", "x", {}), split_at_slot(text, "System")),
    "a node's name": slug,
    "a tool's name": model_name,
    "a shown text": printable,
    "a line of the console": lambda text: (truncate_line(text, 200), truncate_block(text, 2000)),
    "sections of Markdown": markdown_sections,
    "chunks": split_chunks,
    "entities": extract_entities,
    "a docstring": lambda text: _parameter_descriptions(f"Does it.\n\nArgs:\n    {text}"),
    "a docstring's lines": _parameter_descriptions,
    "JSON with comments": strip_jsonc_comments,
    "a line of .env": lambda text: refused(lambda: _parse_line(text, "here")),
    "requirements": lambda text: [*requirements_places(text), *setup_cfg_places(text), *environment_places(text)],
    "a Pipfile": lambda text: list(pipfile_lines(text)),
}


def test_every_function_that_reads_texts_of_others_takes_linear_time() -> None:
    families = [(f"{unit!r} repeated", repeated(unit)) for unit in UNITS]
    slow = {name: text for name, read in READERS.items() if (text := slowest(read, families)) is not None}
    assert slow == {}
