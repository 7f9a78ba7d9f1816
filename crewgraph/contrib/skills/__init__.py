"""Skills: folders of instructions that agents read when a task calls for them."""

from crewgraph.contrib.skills.discovery import activate_skill, discover_skills, load_skill, load_skills
from crewgraph.contrib.skills.registry import SkillRef, is_registry_ref, parse_skill_ref, resolve_registry_ref
from crewgraph.contrib.skills.skill import Skill, SkillFrontmatter, SkillParseError

__all__ = [
    "Skill",
    "SkillFrontmatter",
    "SkillParseError",
    "SkillRef",
    "activate_skill",
    "discover_skills",
    "is_registry_ref",
    "load_skill",
    "load_skills",
    "parse_skill_ref",
    "resolve_registry_ref",
]
