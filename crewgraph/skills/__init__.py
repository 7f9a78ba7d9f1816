"""Skills: folders of instructions that agents read when a task calls for them."""

from crewgraph.skills.cache import SkillCache
from crewgraph.skills.discovery import activate_skill, discover_skills, load_skill, load_skills
from crewgraph.skills.front_matter import SkillParseError
from crewgraph.skills.registry import (
    SkillRef,
    is_registry_ref,
    parse_registry_ref,
    parse_skill_ref,
    resolve_registry_ref,
)
from crewgraph.skills.skill import Skill, SkillFrontmatter

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
