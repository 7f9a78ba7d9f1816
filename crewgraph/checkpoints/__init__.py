"""Where runs are kept: a LangGraph checkpointer on SQLite."""
