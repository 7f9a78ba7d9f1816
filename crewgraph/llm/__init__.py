"""Language models: models by name, LangChain chat models, custom classes, and scripted models for tests."""
