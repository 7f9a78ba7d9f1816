"""What a step costs, beside hand-written LangGraph and CrewAI itself: `python -m benchmarks.run`."""
