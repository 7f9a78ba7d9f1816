"""Write teams of agents in CrewAI's vocabulary, run them as LangGraph StateGraphs."""
