"""The hooks of mkdocs: what the site has beside the pages, and how pages name it.

- `::: path.of.Class: name, name` becomes the entries of these members, one after another; `*` stands for those
  that no other line names.
- The examples and the notebooks become pages, with their files and outputs.
- Links from the pages to other files of the repository become their paths.
- `llms.txt` lists the pages for models, each as Markdown.
"""

import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent.parent

_ENTRIES = re.compile(r"^::: ([\w.]+): (.+)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|#)([^)#]*)(#[^)]*)?\)")
_SHOWN = {".py": "python", ".yaml": "yaml", ".json": "json", ".toml": "toml", ".txt": "text", ".md": "markdown"}
_SHOWN |= {"Dockerfile": "docker", ".csv": "text"}
_HIDDEN = {"README.md", "stand_in.py", "offline.py"}
_PYDANTIC = {"model_config", "model_post_init"}
_LONGEST_FILE = 20_000  # characters

_markdown: dict[str, tuple[str, str]] = {}
"""The title and the text of each page, by its path."""


def public_names(path: str) -> set[str]:
    """The public fields, attributes, properties and methods of a class, also inherited ones, that crewgraph defines."""
    module, _, name = path.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    names = set(getattr(kind, "model_fields", {}))
    for base in kind.__mro__:
        if base.__module__.startswith("crewgraph."):
            names |= {*vars(base), *inspect.get_annotations(base)}
    return {name for name in names if not name.startswith("_")} - _PYDANTIC


def with_entries(page: str) -> str:
    """Return a page with `::: path: names` written as the entries of these members."""
    named = {(match[1], name) for match in _ENTRIES.finditer(page) for name in match[2].split(", ")}

    def entries(match: re.Match[str]) -> str:
        path = match[1]
        others = (name for name in sorted(public_names(path)) if (path, name) not in named)
        names = others if match[2] == "*" else match[2].split(", ")
        return "\n\n".join(f"::: {path}.{name}\n    options: {{heading_level: 4}}" for name in names)

    return _ENTRIES.sub(entries, page)


def on_files(files: Any, config: Any) -> None:
    """Add the examples and the notebooks."""
    made = {
        "examples/index.md": _with_site_links((ROOT / "examples" / "README.md").read_text("utf-8"), ROOT / "examples")
    }
    for readme in sorted((ROOT / "examples").glob("*/README.md")):
        made[f"examples/{readme.parent.name}.md"] = _example(readme)
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        made[f"notebooks/{notebook.stem}.md"] = _notebook(notebook)
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))


def on_nav(nav: Any, **_: Any) -> None:
    """Note the order of the pages."""
    _markdown.update({page.file.src_uri: ("", "") for page in nav.pages})


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Write out entries of the reference, and replace links that lead out of the pages."""
    path = page.file.src_uri
    if path == "changelog.md":  # its links start at the top of the repository
        markdown = (ROOT / "CHANGELOG.md").read_text("utf-8").replace("](docs/", "](")
    elif "/" not in path:
        markdown = _with_site_links(markdown, ROOT / "docs")
    elif path.startswith("reference/"):
        markdown = with_entries(markdown)
    _markdown[path] = (page.title, markdown)
    return markdown


def on_post_build(config: Any, **_: Any) -> None:
    """Write `llms.txt` and the pages that it names."""
    site, lines = Path(config["site_dir"]), [f"# {config['site_name']}", "", f"> {config['site_description']}"]
    for path, (title, text) in _markdown.items():
        if path.startswith("reference/"):
            lines.append(f"- [{title}]({path.removesuffix('.md')}/)")
        else:
            (site / path).write_text(text, "utf-8")
            lines.append(f"- [{title}]({path})")
    (site / "llms.txt").write_text("\n".join([*lines[:3], "", *lines[3:]]) + "\n", "utf-8")


def _with_site_links(text: str, folder: Path) -> str:
    """Replace links to files of the repository by links to their pages, or by their paths where they have none."""

    def link(match: re.Match[str]) -> str:
        words, target, heading = match[1], (folder / match[2]).resolve(), match[3] or ""
        if not match[2] or not target.exists():
            return match[0]
        path = target.relative_to(ROOT).as_posix()
        up = "" if folder.name == "docs" else "../"
        if path.startswith("docs/"):
            return f"[{words}]({up}{path.removeprefix('docs/')}{heading})"
        if path.startswith("notebooks/"):
            return f"[{words}]({up}{path.removesuffix('.ipynb')}.md)"
        example = re.fullmatch(r"examples/(\w+)(/README\.md)?|examples/README\.md", path)
        if example and (example[1] is None or target.is_dir() or example[2]):
            return f"[{words}]({up}examples/{example[1] or 'index'}.md{heading})"
        return words if words == match[2] else f"{words} (`{path}`)"

    return _LINK.sub(link, text)


def _example(readme: Path) -> str:
    """Return the page of an example: its README, and its files."""
    parts = [
        _with_site_links(readme.read_text("utf-8"), readme.parent),
        f"## Files\n\nIn `examples/{readme.parent.name}`:",
    ]
    for file in sorted(readme.parent.rglob("*")):
        language = _SHOWN.get(file.suffix or file.name)
        shown = language and file.is_file() and file.name not in _HIDDEN and "__pycache__" not in file.parts
        text = file.read_text("utf-8") if shown else ""
        if 0 < len(text) <= _LONGEST_FILE:
            parts.append(f'~~~~{language} title="{file.relative_to(readme.parent).as_posix()}"\n{text.rstrip()}\n~~~~')
    return "\n\n".join(parts) + "\n"


def _notebook(file: Path) -> str:
    """Return the page of a notebook: its cells with their outputs."""
    parts: list[str] = []
    for cell in json.loads(file.read_text("utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(_with_site_links(source, file.parent))
            continue
        parts.append(f"~~~~python\n{source}\n~~~~")
        parts += [_output(output) for output in cell["outputs"]]
    parts.insert(1, f"A notebook, with its outputs: `notebooks/{file.name}`.")
    return "\n\n".join(parts) + "\n"


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        page = "".join(data["text/html"]).strip()
        for character, name in (("&", "&amp;"), ('"', "&quot;"), ("\n", "&#10;")):
            page = page.replace(character, name)
        fit = "this.height = this.contentDocument.body.scrollHeight + 40"
        return f'<iframe class="output" srcdoc="{page}" onload="{fit}"></iframe>'
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"~~~~text\n{text.rstrip()}\n~~~~"
