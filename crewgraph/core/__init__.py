"""Effects, the journal, the rules and their two drivers: the only place that touches LangGraph's private keys."""
