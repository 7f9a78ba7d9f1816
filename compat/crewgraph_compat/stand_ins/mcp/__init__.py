"""Clients and tools of MCP servers that programs hold themselves."""
