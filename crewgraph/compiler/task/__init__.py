"""The execution of tasks: briefing, guardrails and structured output."""
