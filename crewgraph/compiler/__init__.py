"""Pure functions from definitions to a StateGraph."""
