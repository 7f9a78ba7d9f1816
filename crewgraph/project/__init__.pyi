"""The names of this package, each with its module: for type checkers, and for `__init__.py`, which imports them lazily."""

from crewgraph.contrib.declared.json_crews import load_agent as load_agent
from crewgraph.contrib.declared.json_crews import load_agent_from_definition as load_agent_from_definition
from crewgraph.contrib.declared.json_crews import load_crew as load_crew
from crewgraph.contrib.declared.json_crews import load_crew_and_kickoff as load_crew_and_kickoff
from crewgraph.contrib.declared.json_crews import load_crew_from_definition as load_crew_from_definition
from crewgraph.contrib.declared.json_crews import strip_jsonc_comments as strip_jsonc_comments
from crewgraph.project.crew_base import CrewBase as CrewBase
from crewgraph.project.decorators import after_kickoff as after_kickoff
from crewgraph.project.decorators import agent as agent
from crewgraph.project.decorators import before_kickoff as before_kickoff
from crewgraph.project.decorators import cache_handler as cache_handler
from crewgraph.project.decorators import callback as callback
from crewgraph.project.decorators import crew as crew
from crewgraph.project.decorators import llm as llm
from crewgraph.project.decorators import output_json as output_json
from crewgraph.project.decorators import output_pydantic as output_pydantic
from crewgraph.project.decorators import task as task
from crewgraph.project.decorators import tool as tool
from crewgraph.project.env_file import load_env as load_env

__all__: list[str]
