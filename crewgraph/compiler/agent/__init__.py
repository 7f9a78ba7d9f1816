"""The work of agents: prompts, the ReAct loop, tools, plans and delegation."""
