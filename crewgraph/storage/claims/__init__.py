"""Claims on the threads of a saver: which run holds a thread, enforced by the operating system or the database.

- Our SQLite saver and LangGraph's: a locked byte of a file next to the database (`files.py`). The lock ends with its process.
- LangGraph's Postgres savers: an advisory lock of a connection, with a token (`postgres.py`).
- Others: a claim that holds within this process only (`process.py`).
"""
