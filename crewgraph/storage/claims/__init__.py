"""Who runs a thread: claims on the threads of a saver, kept from other processes by the operating system or the database.

- Our SQLite saver and LangGraph's: a locked byte of a file beside the database (`files.py`). The lock ends with its process.
- LangGraph's Postgres savers: an advisory lock of a connection, with a token (`postgres.py`).
- Others: this process alone knows of the claim (`process.py`).
"""
