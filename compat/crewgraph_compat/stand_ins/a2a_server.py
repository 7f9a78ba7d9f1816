"""CrewAI's A2A server configuration, which programs pass beside that of a client: crewgraph does not serve agents."""

from pydantic import ConfigDict

from crewgraph.contrib.a2a.config import ServedAgent


class A2AServerConfig(ServedAgent):
    """The card and endpoints an agent would be served with. An agent behaves the same with or without it."""

    model_config = ConfigDict(extra="allow")
