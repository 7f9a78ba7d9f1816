"""Language models: names, LangChain chat models, the user's own classes, scripts."""
