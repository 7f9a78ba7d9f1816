"""The crews, flows and tools in a project's files, and placeholder interpolation."""

import importlib.util
import inspect
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypedDict, cast

from pydantic import BaseModel

from crewgraph.annotations import annotations_of
from crewgraph.crew import Crew
from crewgraph.errors import RunError
from crewgraph.flow.flow import Flow
from crewgraph.text import fill, placeholders
from crewgraph.tools.base import BaseTool

__all__ = [
    "AvailableExport",
    "EnvVarEntry",
    "ToolMetadata",
    "extract_available_exports",
    "extract_tools_metadata",
    "fetch_crews",
    "get_crew_instance",
    "get_crews",
    "get_flow_instance",
    "get_flows",
    "get_project_description",
    "get_project_name",
    "get_project_version",
    "interpolate_only",
    "is_valid_tool",
    "parse_toml",
    "process_config",
    "read_toml",
]


class AvailableExport(TypedDict):
    """A tool exported by a package."""

    name: str


class EnvVarEntry(TypedDict):
    """An environment variable that a tool reads."""

    name: str
    description: str
    required: bool
    default: str | None


class ToolMetadata(TypedDict):
    """The metadata of a tool in listings."""

    name: str
    module: str
    humanized_name: str
    description: str
    run_params_schema: dict[str, Any]
    init_params_schema: dict[str, Any]
    env_vars: list[EnvVarEntry]


def parse_toml(content: str) -> dict[str, Any]:
    """Parse a TOML text."""
    return tomllib.loads(content)


def read_toml(file_path: str | Path = "pyproject.toml") -> dict[str, Any]:
    """Parse a TOML file.

    Raises:
        FileNotFoundError: There is no such file.
    """
    return tomllib.loads(Path(file_path).read_text("utf-8"))


def get_project_name(pyproject_path: str = "pyproject.toml", require: bool = False) -> str | None:
    """Return the project name from a pyproject.toml; see `get_project_version`."""
    return _of_project("name", pyproject_path, require)


def get_project_description(pyproject_path: str = "pyproject.toml", require: bool = False) -> str | None:
    """Return the project description; see `get_project_version`."""
    return _of_project("description", pyproject_path, require)


def get_project_version(pyproject_path: str = "pyproject.toml", require: bool = False) -> str | None:
    """Return the project version.

    Args:
        pyproject_path: the file.
        require: whether it must be present.

    Returns:
        None if it is missing.

    Raises:
        SystemExit: It is missing but required.
    """
    return _of_project("version", pyproject_path, require)


def _of_project(key: str, path: str, require: bool) -> str | None:
    try:
        result = read_toml(path).get("project", {}).get(key)
    except (OSError, tomllib.TOMLDecodeError) as error:
        result, why = None, str(error)
    else:
        why = f"`[project]` of {path} has no `{key}`"
    if result is None and require:
        raise SystemExit(f"Error: {why}")
    return result


def get_crew_instance(module_attr: Any) -> Crew | None:
    """Return the crew for a module attribute: a crew, a `@CrewBase` class, or a function that returns a crew."""
    if isinstance(module_attr, type):
        make: Any = module_attr
        return make().crew() if getattr(module_attr, "is_crew_class", False) else None
    if isinstance(module_attr, Crew):
        return module_attr
    annotation = annotations_of(module_attr).get("return") if inspect.isfunction(module_attr) else None
    return module_attr() if annotation is Crew or annotation == "Crew" else None


def get_flow_instance(module_attr: Any) -> Flow[Any] | None:
    """Return an instance of the flow class held by a module attribute, if it is one."""
    kinds: tuple[Any, ...] = getattr(module_attr, "__mro__", ())
    return module_attr() if Flow in kinds[1:] else None


def fetch_crews(module_attr: Any) -> list[Crew]:
    """Return the crews held by a module attribute, including those in a flow's attributes."""
    result = [] if (crew := get_crew_instance(module_attr)) is None else [crew]
    flow = get_flow_instance(module_attr)
    return result if flow is None else [*result, *(item for item in vars(flow).values() if isinstance(item, Crew))]


def get_crews(crew_path: str = "crew.py", require: bool = False) -> list[Crew]:
    """Return the crews in files with the given name in this folder, in src/ and below.

    Args:
        crew_path: the name.
        require: whether there must be one.

    Raises:
        SystemExit: There is none but one is required.
    """
    result = [crew for module in _modules(crew_path) for item in _own(module) for crew in fetch_crews(item)]
    if require and not result:
        raise SystemExit(f"there is no crew in any {crew_path} in {Path.cwd()}")
    return list({id(item): item for item in result}.values())


def get_flows(flow_path: str = "main.py") -> list[Flow[Any]]:
    """Return the flows in files with the given name in this folder, in src/ and below."""
    result = [get_flow_instance(item) for module in _modules(flow_path) for item in _own(module)]
    return [flow for flow in result if flow is not None]


def _own(module: ModuleType) -> list[Any]:
    """Return the attributes that a module defines itself, without imports."""
    members = [value for name, value in vars(module).items() if not name.startswith("_")]
    return [
        item
        for item in members
        if getattr(item, "__module__", module.__name__) == module.__name__ or isinstance(item, Crew)
    ]


def _modules(name: str) -> Iterator[ModuleType]:
    here = Path.cwd()
    roots = [here, here / "src"]
    for path in sorted(path for path in here.rglob(name) if not {".venv", "venv", "site-packages"} & {*path.parts}):
        root = next(item for item in reversed(roots) if path.is_relative_to(item))
        yield _module(path, ".".join(path.relative_to(root).with_suffix("").parts), root)


def _module(path: Path, name: str, root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RunError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    before, sys.modules[name] = sys.modules.get(name), module
    sys.path.insert(0, str(root))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(root))
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
    return module


def is_valid_tool(obj: Any) -> bool:
    """Return whether an object is a tool or a tool class."""
    return isinstance(obj, BaseTool) or (inspect.isclass(obj) and issubclass(obj, BaseTool) and obj is not BaseTool)


def extract_available_exports(dir_path: str = "src") -> list[AvailableExport]:
    """Return the tools exported by the packages in a folder: the names in `__all__` of each `__init__.py`.

    Raises:
        SystemExit: there is none.
    """
    result: list[AvailableExport] = [{"name": name} for name, _ in _tools(dir_path)]
    if not result:
        raise SystemExit(f"no `__init__.py` below {dir_path} names a tool in its `__all__`")
    return result


def extract_tools_metadata(dir_path: str = "src") -> list[ToolMetadata]:
    """Return the metadata of the exported tools."""
    return [_described(name, tool) for name, tool in _tools(dir_path)]


def _tools(dir_path: str) -> Iterator[tuple[str, Any]]:
    root = Path(dir_path)
    for path in sorted(root.rglob("__init__.py")):
        module = _module(path, ".".join(path.parent.relative_to(root).parts) or root.name, root)
        names: list[str] = getattr(module, "__all__", [])
        yield from ((name, item) for name in names if is_valid_tool(item := getattr(module, name, None)))


def _described(name: str, tool: Any) -> ToolMetadata:
    is_class = isinstance(tool, type)
    kind: type[BaseTool] = tool if is_class else type(tool)
    fields = kind.model_fields
    values: dict[str, Any] = {
        key: field.get_default(call_default_factory=True) if is_class else getattr(tool, key)
        for key, field in fields.items()
        if key in ("name", "description", "args_schema", "env_vars")
    }
    schema = values["args_schema"]
    return {
        "name": name,
        "module": kind.__module__,
        "humanized_name": str(values["name"]),
        "description": str(values["description"]),
        "run_params_schema": schema.model_json_schema() if hasattr(schema, "model_json_schema") else {},
        "init_params_schema": {},
        "env_vars": [item.model_dump() for item in values["env_vars"]],
    }


def process_config(values: dict[str, Any], model_class: type[BaseModel]) -> dict[str, Any]:
    """Fill missing values from `config`, for `model_validator(mode="before")`.

    Args:
        values: the arguments of an object; changed in place.
        model_class: the model; names in `config` that are not fields of it are dropped.

    Returns:
        the values, without a non-empty `config`.
    """
    config: dict[str, Any] = values.get("config") or {}
    for name, value in config.items():
        if name not in model_class.model_fields or values.get(name) is not None:
            continue
        if isinstance(value, Mapping) and isinstance(own := values.get(name), dict):
            cast("dict[str, Any]", own).update(cast("Mapping[str, Any]", value))
        else:
            values[name] = value
    if config:
        values.pop("config", None)
    return values


def interpolate_only(input_string: str | None, inputs: Mapping[str, Any]) -> str:
    """Fill the `{placeholders}` of a text; tasks do this automatically.

    Args:
        input_string: the text; None is an empty one.
        inputs: values by name.

    Raises:
        MissingInput: a placeholder has no value (also KeyError and ValueError).
        DefinitionError: a value is of a type that is not shown (also ValueError).
    """
    if not input_string or not placeholders(input_string):
        return input_string or ""
    return fill(input_string, inputs, where="the text")
