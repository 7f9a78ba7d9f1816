"""Runs that are lost at random moments, and collected at random moments of another run, which must not notice.

A run is lost when its event loop is closed: by Ctrl-C in a notebook, by the shutdown of a server, by a test.
"""

import asyncio
import gc
import logging
import random
import warnings
from collections import Counter
from dataclasses import dataclass, field

from modes import Mode
from runtime.test_lost_runs import LOST, Waiting, check_a_visit, hearing_complaints, lose

__all__ = ["Losses", "run_losses"]

_MODES = ("sync", "async", "sync-step", "async-step")
_LONGEST = 0.04  # seconds until a run is lost; half of them wait in their tool by then
_EVENTS = 16  # of the other run before its tool collects what is lost


@dataclass
class Losses:
    """The results of some losses."""

    lost: Counter[str] = field(default_factory=Counter[str])
    """Runs that were lost, by kind."""

    noticed: list[str] = field(default_factory=list[str])
    """Runs that changed another one when they were collected inside it."""


def run_losses(number: int, seed: int) -> Losses:
    """Lose runs one after the other; each is collected inside another run.

    Args:
        number: how many runs.
        seed: seeds all that is drawn.
    """
    chance, outcome = random.Random(seed), Losses()
    logging.getLogger("asyncio").disabled = True  # it tells of each task that was lost
    with warnings.catch_warnings():
        # What was to be awaited next never is.
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        for count in range(number):
            if count % 50 == 0:
                gc.unfreeze()
                gc.collect()
            gc.freeze()  # so that collecting is quick: only what was made since is looked at
            kind, mode = chance.choice(LOST), Mode(chance.choice(_MODES))
            waiting = Waiting()
            drawn = chance.uniform(0.0, _LONGEST), chance.randint(1, _EVENTS)
            with hearing_complaints() as complaints:
                try:
                    check_a_visit(mode, lose(kind(waiting), waiting, drawn[0]), drawn[1])
                    assert complaints == []
                except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - told in the table
                    outcome.noticed.append(f"seed {seed}: {kind.__name__} {mode.name} {drawn}: {error!r}")
            outcome.lost[kind.__name__] += 1
    gc.unfreeze()
    logging.getLogger("asyncio").disabled = False
    return outcome
