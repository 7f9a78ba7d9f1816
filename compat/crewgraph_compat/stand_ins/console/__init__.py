"""Prompt texts and terminal input and output."""
