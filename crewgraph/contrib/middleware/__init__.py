"""Agents whose loop is LangChain's `create_agent` with middleware, configured with `Agent(middleware=[...])`."""
