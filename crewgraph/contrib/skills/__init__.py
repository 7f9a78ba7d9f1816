"""Skills: folders of instructions that agents read when a task calls for them."""

from crewgraph.contrib.skills.discovery import activate_skill, discover_skills, load_skill, load_skills
from crewgraph.contrib.skills.registry import (
    SkillCache,
    SkillRef,
    is_registry_ref,
    parse_registry_ref,
    parse_skill_ref,
    resolve_registry_ref,
)
from crewgraph.contrib.skills.skill import Skill, SkillFrontmatter, SkillParseError

__all__ = [
    "Skill",
    "SkillCache",
    "SkillFrontmatter",
    "SkillParseError",
    "SkillRef",
    "activate_skill",
    "discover_skills",
    "is_registry_ref",
    "load_skill",
    "load_skills",
    "parse_registry_ref",
    "parse_skill_ref",
    "resolve_registry_ref",
]
