"""Instructions for models that write declared flows."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import BaseModel

from crewgraph.contrib.declared import actions, state
from crewgraph.contrib.declared.actions import FlowConversationalDefinition
from crewgraph.contrib.declared.method import (
    FlowHumanFeedbackDefinition,
    FlowMethodDefinition,
    FlowPersistenceDefinition,
)
from crewgraph.errors import DefinitionError
from crewgraph.extras import load

_HEAD = """---
name: flow-definition
description: Write or change a flow that is declared in YAML or JSON: its state, its methods, and what they do.
---

# A declared flow

Answer with one document of the schema `crewai.flow/v1`, in {language}, and with nothing else unless more is asked for.

1. Begin with `state`: what the flow is given stands in `state.json_schema.required`.
2. Give each method one action, under `do`. A run begins with the methods that have `start: true`.
3. Let later methods `listen` to a method or to a label. Names of methods and labels are letters, digits and `_`.
4. Take data from `state.field` and from `outputs.method`, and name only what has run before.
5. Prefer the simplest action that does the work."""

_RULES: dict[str, str] = {
    "expression_action": "- `call: expression` evaluates CEL: to read, filter, reckon and choose; `expr` has no `${...}`.",
    "tool_action": "- `call: tool` runs a tool, `ref: module:Class`, with the arguments under `with`.",
    "": "- `call: agent` asks one agent; it stands under `with`, its question is `input`.\n"
    "- `call: crew` lets several agents work; it stands under `with`. What its texts name as `{word}` is in `inputs`.\n"
    "- `call: code` calls a function, `ref: module:function`, with the keywords under `with`.",
    "each": "- `call: each` carries out steps for each item of the list `in`; they name it `item`.",
    "script_action": "- `call: script` runs Python that nothing holds back. Write it only where somebody asks for it.",
    "non_linear_flows": "- `router: true` makes what a method returns the label that happens next; list these under `emit`.\n"
    "- `listen: {or: [a, b]}` waits for any, `{and: [a, b]}` for all.",
    "hitl": "- `human_feedback` shows what a method returned to a person; with `emit` the answer says what happens next.",
    "persistence": "- `persist: {enabled: true}` saves the state after each method, so that a run that was stopped goes on.",
    "config": "- `config` bounds how often a method may run (`max_method_calls`) and says whether answers are streamed.",
    "conversational": "- `conversational` makes the flow a conversation, whose routes are the labels that methods listen to.",
}
"""The rules by the part they describe; the part "" cannot be skipped."""

_TEMPLATES = """## Texts with `${...}`

Texts under `with`, `inputs` and `input` may hold CEL between `${` and `}`. A text that is one such expression becomes its
value, of whatever type. In other texts values are written as text, and null as nothing."""

_EXAMPLE: dict[str, object] = {
    "schema": "crewai.flow/v1",
    "name": "AnswerLetters",
    "state": {
        "type": "json_schema",
        "json_schema": {"type": "object", "required": ["letter"], "properties": {"letter": {"type": "string"}}},
    },
    "methods": {
        "answer": {
            "start": True,
            "do": {
                "call": "agent",
                "with": {
                    "role": "Clerk",
                    "goal": "Answer letters",
                    "backstory": "Polite.",
                    "input": "Answer: ${state.letter}",
                },
            },
        },
        "send": {"listen": "answer", "do": {"call": "expression", "expr": "outputs.answer.raw"}},
    },
}

_PARTS: dict[str, tuple[type[BaseModel], ...]] = {
    "": (
        FlowMethodDefinition,
        state.FlowJsonSchemaStateDefinition,
        actions.FlowAgentActionDefinition,
        actions.FlowCrewActionDefinition,
        actions.FlowCodeActionDefinition,
    ),
    "expression_action": (actions.FlowExpressionActionDefinition,),
    "tool_action": (actions.FlowToolActionDefinition,),
    "script_action": (actions.FlowScriptActionDefinition,),
    "each": (actions.FlowEachActionDefinition, actions.FlowEachStepDefinition),
    "hitl": (FlowHumanFeedbackDefinition,),
    "persistence": (FlowPersistenceDefinition,),
    "conversational": (FlowConversationalDefinition,),
}


def authoring_skill(skips: Sequence[str] = (), examples_format: Literal["yaml", "json"] = "yaml") -> str:
    """Return instructions for models that write declared flows, as the text of a skill.

    Args:
        skips: Parts to leave out: "conversational", "non_linear_flows", "each", "hitl", "persistence", "config",
            "expression_action", "script_action" or "tool_action".
        examples_format: The language of the example.

    Raises:
        DefinitionError: If a part or the language is unknown.
    """
    unknown = [name for name in skips if not name or name not in _RULES]
    if unknown or examples_format not in ("yaml", "json"):
        problem = f"`skips` contains {unknown[0]!r}" if unknown else f"`examples_format` is {examples_format!r}"
        known = ", ".join(f"`{name}`" for name in _RULES if name)
        raise DefinitionError(f"{problem}; the parts are {known}, and examples come in `yaml` and `json`")
    rules = "\n".join(rule for name, rule in _RULES.items() if name not in skips)
    example = (
        json.dumps(_EXAMPLE, indent=2)
        if examples_format == "json"
        else load("yaml").safe_dump(_EXAMPLE, sort_keys=False)
    )
    fields = "\n".join(line for name, models in _PARTS.items() if name not in skips for line in _field_list(models))
    return "\n\n".join(
        (
            _HEAD.format(language=examples_format.upper()),
            f"## What there is\n\n{rules}",
            _TEMPLATES,
            f"## An example\n\n```{examples_format}\n{example.strip()}\n```",
            f"## Fields\n\n{fields}\n",
        )
    )


def _field_list(models: Sequence[type[BaseModel]]) -> Iterator[str]:
    for model in models:
        doc = (model.__doc__ or "").partition("\n")[0]
        names = [
            f"`{info.alias or name}`{'' if info.is_required() else ' (optional)'}"
            for name, info in model.model_fields.items()
        ]
        yield f"- {doc} Its keys: {', '.join(names)}."
