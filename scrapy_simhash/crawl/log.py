"""Warnings that cannot flood a log."""

from __future__ import annotations

import logging
from time import monotonic

INTERVAL_SECONDS = 60.0


class RareWarning:
    """A warning that is logged at most once a minute, with the number of those held back."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._next = 0.0
        self._held_back = 0

    def log(self, message: str, extra: dict[str, object]) -> None:
        """Log *message*, or count it as held back."""
        now = monotonic()
        if now < self._next:
            self._held_back += 1
            return
        if self._held_back:
            message += f" (and {self._held_back} more warnings like this since the last one)"
        self._logger.warning("%s", message, extra=extra)
        self._next = now + INTERVAL_SECONDS
        self._held_back = 0
