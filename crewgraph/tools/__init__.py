"""Tools: declared, checked, used, and exchanged with LangChain."""
