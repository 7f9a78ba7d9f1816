"""The program while it is written: its imports, names, texts, helper functions, models and tools."""
