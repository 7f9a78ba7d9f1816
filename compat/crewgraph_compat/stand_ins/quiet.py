"""Silence for a while."""

import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["suppress_logging", "suppress_warnings"]


@contextmanager
def suppress_logging(logger_name: str, level: int | str) -> Generator[None]:
    """A `with` block in which a logger tells only what is of a level or above."""
    logger = logging.getLogger(logger_name)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def suppress_warnings() -> Generator[None]:
    """A `with` block without warnings; it holds for the whole process, as Python's filters do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
