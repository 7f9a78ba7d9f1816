"""Reading skills from folders, and refusing invalid ones."""

from pathlib import Path

import pytest

from contrib.skills.folders import skill_folder
from crewgraph.contrib.skills import (
    Skill,
    SkillParseError,
    activate_skill,
    discover_skills,
    is_registry_ref,
    load_skill,
    load_skills,
    parse_skill_ref,
    resolve_registry_ref,
)
from crewgraph.contrib.skills.discovery import build_skill_catalog, format_skill_context
from crewgraph.contrib.skills.registry import SkillNotInstalled
from crewgraph.contrib.skills.skill import (
    load_resources,
    load_skill_metadata,
    parse_frontmatter,
    parse_skill_md,
    read_resource,
)
from crewgraph.events.tool import SkillLoadFailedEvent
from crewgraph.testing import record_events


def written(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text, "utf-8")
    return folder


def test_a_skill_is_disclosed_step_by_step(tmp_path: Path):
    folder = skill_folder(
        tmp_path, "tides", "Read tide tables.", "Look first.", references__ports_md="Brest", scripts__a_py="1"
    )
    (skill,) = discover_skills(tmp_path)
    assert (skill.name, skill.description, skill.disclosure_level, skill.instructions) == (
        "tides", "Read tide tables.", 1, None,
    )  # fmt: skip
    active = activate_skill(skill)
    assert (active.disclosure_level, active.instructions, skill.instructions) == (2, "Look first.", None)
    assert activate_skill(active) is active
    whole = load_resources(skill)
    assert whole.resource_files == {"scripts": ["a.py"], "references": ["ports.md"]}
    assert whole.path == folder
    assert format_skill_context(whole) == (
        '<skill name="tides">\nRead tide tables.\n\nLook first.\n\nFiles of this skill:\n- references/ports.md\n'
        "- scripts/a.py\n</skill>"
    )


def test_a_folder_that_is_a_skill_is_that_skill(tmp_path: Path):
    folder = skill_folder(tmp_path, "tides")
    assert [skill.name for skill in load_skill(folder)] == ["tides"]
    assert [skill.name for skill in load_skill(str(folder))] == ["tides"]


def test_of_two_skills_with_one_name_the_first_counts(tmp_path: Path):
    skill_folder(tmp_path / "one", "tides", "First.")
    skill_folder(tmp_path / "two", "tides", "Second.")
    skills = load_skills([tmp_path / "one", tmp_path / "two"], activate=False)
    assert [skill.description for skill in skills] == ["First."]
    both = [*discover_skills(tmp_path / "one"), *discover_skills(tmp_path / "two")]
    assert list(build_skill_catalog(both)) == ["one/tides", "two/tides"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Do it.", "SKILL.md:1: the file must begin with a `---` line"),
        ("---\nname: tides\n", "SKILL.md:1: the front matter is not closed"),
        ("---\nname: tides\ndescription: [a\n---\n", "SKILL.md:4: the front matter is not valid YAML"),
        ("---\nname: tides\ndescription: a: b\n---\n", "SKILL.md:3: the front matter is not valid YAML"),
        ("---\n- a\n---\n", "SKILL.md:1: the front matter is not a mapping"),
        ("---\n---\n", "SKILL.md:1: the front matter is not a mapping"),
        ("---\ndescription: x\n---\n", "SKILL.md:1: `name`"),
        ("---\ndescription: x\nname: Tides\n---\n", "SKILL.md:3: `name`"),
        ("---\nname: tides\ndescription: ''\n---\n", "SKILL.md:3: `description`"),
        ("---\nname: tides\ndescription: x\nmetadata:\n  a: 1\n---\n", "SKILL.md:4: `metadata.a`"),
        ("---\nname: other\ndescription: x\n---\n", "the skill is named `other`, but its folder `tides`"),
    ],
)
def test_a_fault_is_reported_with_its_file_and_line(tmp_path: Path, text: str, message: str):
    folder = written(tmp_path / "tides", text)
    with pytest.raises(SkillParseError) as caught:
        load_skill_metadata(folder)
    assert message in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_what_cannot_be_used_is_reported_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    skill_folder(tmp_path, "tides")
    written(tmp_path / "broken", "nothing")
    with record_events() as events:
        assert [skill.name for skill in discover_skills(tmp_path)] == ["tides"]
    (failed,) = [event for event in events if isinstance(event, SkillLoadFailedEvent)]
    assert failed.skill_name == "broken"
    assert "broken/SKILL.md:1:" in failed.error
    assert "broken/SKILL.md:1:" in caplog.text


def test_a_folder_that_is_missing_is_reported(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="there is no such folder of skills"):
        load_skill(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        parse_skill_md(tmp_path / "SKILL.md")


def test_nothing_outside_of_the_folder_is_read(tmp_path: Path):
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    folder = skill_folder(tmp_path / "skills", "tides", references__ok_md="fine")
    (folder / "references" / "out.md").symlink_to(tmp_path / "secret.txt")
    skill = load_resources(load_skill_metadata(folder))
    assert skill.resource_files == {"references": ["ok.md"]}
    assert read_resource(skill, "references/ok.md") == "fine"
    for name in ("../../secret.txt", "references/out.md", str(tmp_path / "secret.txt")):
        with pytest.raises(SkillParseError, match="leads out of the skill's folder"):
            read_resource(skill, name)
    with pytest.raises(FileNotFoundError):
        read_resource(skill, "references/none.md")


def test_links_that_lead_out_of_the_folder_of_skills_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    skill_folder(tmp_path / "elsewhere", "foreign")
    skill_folder(tmp_path / "skills", "tides")
    (tmp_path / "skills" / "foreign").symlink_to(tmp_path / "elsewhere" / "foreign")
    (tmp_path / "linked").symlink_to(tmp_path / "skills")
    assert [skill.name for skill in discover_skills(tmp_path / "skills")] == ["tides"]
    assert "leads out of" in caplog.text
    assert [skill.name for skill in discover_skills(tmp_path / "linked")] == ["tides"]  # what is given is meant


def test_a_skill_file_that_is_a_link_to_elsewhere_is_refused(tmp_path: Path):
    other = skill_folder(tmp_path, "other")
    folder = tmp_path / "skills" / "tides"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").symlink_to(other / "SKILL.md")
    with pytest.raises(SkillParseError, match="leads out of"):
        load_skill_metadata(folder)


def test_long_files_and_files_that_are_no_text_are_refused(tmp_path: Path):
    folder = skill_folder(tmp_path, "tides", references__long_md="x" * 300_000)
    (folder / "assets").mkdir()
    (folder / "assets" / "a.bin").write_bytes(b"ok\n\xff\xfe")
    skill = load_skill_metadata(folder)
    with pytest.raises(SkillParseError, match="longer than 262144 bytes"):
        read_resource(skill, "references/long.md")
    with pytest.raises(SkillParseError, match="a.bin:2: the file is not UTF-8 text"):
        read_resource(skill, "assets/a.bin")
    with pytest.raises(SkillParseError, match="front matter is longer"):
        parse_frontmatter(f"---\nname: {'x' * 70_000}\n---\n")


def test_names_in_a_registry_are_read():
    assert parse_skill_ref("@org/tides@1.0") == ("org", "tides", "1.0")
    assert parse_skill_ref("@org/tides").version is None
    assert [is_registry_ref(one) for one in ("@x", "x", Path("@x"), None)] == [True, False, False, False]
    for wrong in ("org/tides", "@org", "@org/", "@/tides", "@a/b/c", "@../x", "@org/tides@"):
        with pytest.raises(ValueError, match=r"@org/name|version"):
            parse_skill_ref(wrong)


def test_a_name_in_a_registry_is_looked_up_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, storage: Path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(SkillNotInstalled) as caught:
        load_skill("@org/tides")
    assert "`skills/tides` of the project" in str(caught.value)
    assert str(storage / "skills" / "org" / "tides") in str(caught.value)
    assert isinstance(caught.value, RuntimeError)
    skill_folder(storage / "skills" / "org", "tides", "Kept.")
    assert resolve_registry_ref("@org/tides").instructions == "Do it."
    skill_folder(tmp_path / "skills", "tides", "Of the project.")
    assert resolve_registry_ref("@org/tides", activate=False).description == "Of the project."
    (storage / "skills/org/tides/.crewai_meta.json").write_text('{"version": "v1.0"}')
    assert resolve_registry_ref("@org/tides@1.0").description == "Kept."
    with pytest.raises(SkillNotInstalled, match="@org/tides@2.0"):
        resolve_registry_ref("@org/tides@2.0")


def test_a_skill_is_data(tmp_path: Path):
    skill = load_skill_metadata(skill_folder(tmp_path, "tides"))
    assert Skill.model_validate_json(skill.model_dump_json()) == skill
