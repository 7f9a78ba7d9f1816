"""LangGraph stores."""
