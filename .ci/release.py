#!/usr/bin/env python3
"""Say in the code and on the pages that crewgraph is on a package index, once, before its first version is published.

    .ci/release.py SITE REPOSITORY      the addresses of the documentation and of the repository, without a slash at the end

Exits with 1 and changes nothing if a text that has to be changed is not there.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FROM_CHECKOUT = "crewgraph is not on a package index yet: run this in a checkout of its repository."
DOCKER = "from a checkout of crewgraph in `crewgraph` beside your package `support`"
COPIED = 'COPY crewgraph /crewgraph\nRUN pip install --no-cache-dir "/crewgraph[{}]"'
INSTALLED = 'RUN pip install --no-cache-dir "crewgraph[{}]"'

CHANGES = {
    "crewgraph/extras.py": [("RELEASED = False", "RELEASED = True")],
    ".ci/installations.py": [('BASE = "pip install ."', 'BASE = "pip install crewgraph"')],
    "README.md": [
        (
            "pip install .                      # from a checkout: it is on no package index yet\n",
            "pip install crewgraph\n",
        ),
        ("# then what else you need", "# what else you need"),
    ],
    "docs/index.md": [(f" {FROM_CHECKOUT}", ""), ("pip install .\n", "pip install crewgraph\n")],
    "docs/install.md": [(f" {FROM_CHECKOUT}", ""), ("pip install .\n", "pip install crewgraph\n")],
    "docs/moving.md": [
        (f" {FROM_CHECKOUT}", ""),
        ("pip install .\n", "pip install crewgraph\n"),
        ("crewgraph is not on a package index yet: install its checkout before these\nrequirements.\n", ""),
    ],
    "docs/tutorial.md": [
        (", with the path of your checkout in place of `/path/to/crewgraph`", ""),
        ("pip install /path/to/crewgraph", "pip install crewgraph"),
    ],
    "docs/deploy.md": [
        (DOCKER, "beside your package `support`"),
        *((COPIED.format(extras), INSTALLED.format(extras)) for extras in ("serve", "serve,queue")),
    ],
}
"""What each file says before the release, exactly once, and after it."""


def main(site: str, repository: str) -> int:
    """Change the files; return the exit code."""
    texts = {name: (ROOT / name).read_text("utf-8") for name in [*CHANGES, "pyproject.toml", "mkdocs.yml"]}
    lacking = [f"{name}: {old!r}" for name, pairs in CHANGES.items() for old, _ in pairs if texts[name].count(old) != 1]
    if lacking:
        print("To be there exactly once:", *lacking, sep="\n  ", file=sys.stderr)
        return 1
    for name, pairs in CHANGES.items():
        for old, new in pairs:
            texts[name] = texts[name].replace(old, new)
    texts["README.md"] = with_addresses(texts["README.md"], repository)
    urls = f'[project.urls]\nDocumentation = "{site}"\nRepository = "{repository}"\n\n'
    texts["pyproject.toml"] = texts["pyproject.toml"].replace("[tool.hatch", urls + "[tool.hatch", 1)
    texts["mkdocs.yml"] = texts["mkdocs.yml"].replace(
        "docs_dir:", f"site_url: {site}/\nrepo_url: {repository}\ndocs_dir:", 1
    )
    for name, text in texts.items():
        (ROOT / name).write_text(text, "utf-8")
    return 0


def with_addresses(page: str, repository: str) -> str:
    """Return README with full addresses in its links and pictures: a package index shows it, too, without the other files."""
    page = re.sub(r"\]\((?!https?:|#)([^)]+)\)", rf"]({repository}/blob/main/\1)", page)
    return re.sub(r'src="(?!https?:)([^"]+)"', rf'src="{repository}/raw/main/\1"', page)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
