"""Conversations with flows, where each message is a run, and with crews, which a model runs for the user."""
