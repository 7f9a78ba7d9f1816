"""MCP clients and tools that programs manage themselves."""
