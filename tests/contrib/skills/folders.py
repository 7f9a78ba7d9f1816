"""Skill folders for tests."""

from pathlib import Path

__all__ = ["skill_folder"]


def skill_folder(top: Path, name: str, description: str = "For tests.", body: str = "Do it.", **files: str) -> Path:
    """Create a skill folder; resource files are keywords such as `references__x_md="..."`."""
    folder = top / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n", "utf-8")
    for way, text in files.items():
        *parts, ending = way.split("_")
        path = folder / ("/".join(part or "" for part in "_".join(parts).split("__")) + f".{ending}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder
