"""Common tools of crewai_tools as plain Python functions, and how other objects of tool classes are created again."""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from crewgraph.tools.base import BaseTool

_SECRET = ("key", "token", "secret", "password", "credential")


class NotPlainTool(Exception):
    """A tool has values that cannot be written into a program; the message says which."""


@dataclass(frozen=True)
class PlainFunction:
    """The function of a tool, without its decorator and name."""

    parameters: str
    body: str
    imports: Mapping[str, tuple[str, ...]]
    """Names by module; without names, the module itself."""


_READ = """\
path = Path(file_path).resolve()
if not path.is_relative_to(Path.cwd()):
    raise ValueError(f"{file_path} is outside of the working directory")
lines = path.read_text("utf-8").splitlines(keepends=True)
first = max((start_line or 1) - 1, 0)
return "".join(lines[first:] if line_count is None else lines[first : first + line_count])"""

_WRITE = '''\
path = (Path(directory) / filename).resolve()
if not path.is_relative_to(Path.cwd()):
    raise ValueError(f"{path} is outside of the working directory")
if path.exists() and not overwrite:
    return f"{path} exists already and was not overwritten."
path.parent.mkdir(parents=True, exist_ok=True)
path.write_text(content, "utf-8")
return f"Written to {path}."'''

_LIST = """\
files = sorted(str(path) for path in Path(directory).rglob("*") if path.is_file())
return "Files:\\n" + "\\n".join(files)"""

_SCRAPE = """\
page = requests.get(website_url, headers={"User-Agent": "Mozilla/5.0"}, timeout=15)
page.raise_for_status()
text = re.sub(r"(?is)<(script|style)\\b.*?</\\1>|<[^>]+>", " ", page.text)
return re.sub(r"[ \\t]+", " ", re.sub(r"\\s*\\n\\s*", "\\n", html.unescape(text))).strip()"""

_SERPER = """\
found = requests.post(
    "https://google.serper.dev/search",
    json={"q": search_query, "num": %d},
    headers={"X-API-KEY": os.environ["SERPER_API_KEY"]},
    timeout=10,
)
found.raise_for_status()
return found.text"""


def _read(values: Mapping[str, Any]) -> PlainFunction | None:
    if values["base_dir"] is not None or values["encoding"] != "utf-8":
        return None
    default = "" if values["file_path"] is None else f" = {json.dumps(values['file_path'])}"
    takes = f"file_path: str{default}, start_line: int | None = 1, line_count: int | None = None"
    return PlainFunction(takes, _READ, {"pathlib": ("Path",)})


def _write(values: Mapping[str, Any]) -> PlainFunction | None:
    if values["base_dir"] is not None or values["encoding"] != "utf-8":
        return None
    takes = 'filename: str, content: str, directory: str = ".", overwrite: bool = False'
    return PlainFunction(takes, _WRITE, {"pathlib": ("Path",)})


def _list(values: Mapping[str, Any]) -> PlainFunction | None:
    configured = values["directory"]
    takes, body = (
        ("directory: str", _LIST) if configured is None else ("", f"directory = {json.dumps(configured)}\n{_LIST}")
    )
    return PlainFunction(takes, body, {"pathlib": ("Path",)})


def _scrape(values: Mapping[str, Any]) -> PlainFunction | None:
    if values["cookies"] is not None:
        return None
    configured = values["website_url"]
    takes, body = (
        ("website_url: str", _SCRAPE)
        if configured is None
        else ("", f"website_url = {json.dumps(configured)}\n{_SCRAPE}")
    )
    return PlainFunction(takes, body, {"html": (), "re": (), "requests": ()})


def _serper(values: Mapping[str, Any]) -> PlainFunction | None:
    if values["search_type"] != "search" or values["save_file"] or any(values[name] for name in _PLACES):
        return None
    return PlainFunction("search_query: str", _SERPER % values["n_results"], {"os": (), "requests": ()})


_PLACES = ("country", "location", "locale")

_KNOWN: Mapping[str, Callable[[Mapping[str, Any]], PlainFunction | None]] = {
    "DirectoryReadTool": _list,
    "FileReadTool": _read,
    "FileWriterTool": _write,
    "ScrapeWebsiteTool": _scrape,
    "SerperDevTool": _serper,
}


def plain_function(tool: BaseTool) -> PlainFunction | None:
    """Return the function that does what a tool of crewai_tools does; None for other tools, and for unusual values."""
    kind = type(tool)
    if kind.__module__.partition(".")[0] != "crewai_tools" or kind.__name__ not in _KNOWN:
        return None
    try:
        return _KNOWN[kind.__name__]({name: getattr(tool, name) for name in _own_fields(kind)})
    except KeyError:  # a release of the package whose tool has other fields
        return None


def _own_fields(kind: type[BaseTool]) -> list[str]:
    return [name for name in kind.model_fields if name not in BaseTool.model_fields]


def construction(tool: BaseTool) -> str:
    """Return the arguments that create a tool again, without its name and description.

    Raises:
        NotPlainTool: A value is an object or a secret, or its class takes what its object does not keep.
    """
    kind = type(tool)
    words: dict[str, str] = {}
    for name in _own_fields(kind):
        value = getattr(tool, name)
        if (
            value == kind.model_fields[name].get_default(call_default_factory=True)
            and not kind.model_fields[name].is_required()
        ):
            continue
        if any(part in _SECRET for part in name.lower().split("_")):
            raise NotPlainTool(f"`{name}` may be a secret; let the class read it from the environment")
        if not _is_data(value):
            raise NotPlainTool(f"its `{name}` is a `{type(value).__name__}`")
        words[name] = repr(value)
    taken = inspect.signature(kind.__init__).parameters
    if "__init__" in _own_names(kind):
        is_open = any(item.kind is item.VAR_KEYWORD for item in taken.values())
        needed = [
            item.name
            for item in list(taken.values())[1:]
            if item.default is item.empty and item.kind not in (item.VAR_KEYWORD, item.VAR_POSITIONAL)
        ]
        if missing := [name for name in needed if name not in words]:
            raise NotPlainTool(f"its class takes `{missing[0]}`, which its object does not keep")
        words = {name: text for name, text in words.items() if is_open or name in taken}
    return ", ".join(f"{name}={text}" for name, text in words.items())


def _own_names(kind: type[BaseTool]) -> set[str]:
    """Return what the classes below `BaseTool` define."""
    return {name for item in kind.__mro__[: kind.__mro__.index(BaseTool)] for name in vars(item)}


def _is_data(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_data, cast("list[object]", value)))
    if isinstance(value, dict):
        return all(_is_data(item) for pair in cast("dict[object, object]", value).items() for item in pair)
    return value is None or isinstance(value, (str, int, float, bool))
