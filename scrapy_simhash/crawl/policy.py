"""What becomes of a judged page: the one decision that a project may take into its own hands."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast, get_args

from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import build_from_crawler, load_object

from scrapy_simhash.crawl.choices import META_KEY
from scrapy_simhash.crawl.inline import is_inline
from scrapy_simhash.crawl.log import RareWarning
from scrapy_simhash.crawl.requests import is_start_request
from scrapy_simhash.crawl.setup import active_settings
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.report.record import Action
from scrapy_simhash.settings import ACTIONS

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response
    from typing_extensions import Self

    from scrapy_simhash.rule.page import Decision
    from scrapy_simhash.settings import SimhashSettings

logger = logging.getLogger(__name__)

_ACTION_TAKEN: dict[str, Action] = {"drop": "drop", "flag": "flag", "observe": "pass"}


class Policy:
    """Says what becomes of each judged page; ``SIMHASH_POLICY`` names a subclass.

    The default follows the settings and the request's meta key ``simhash``.  A subclass overrides
    :meth:`action` and calls ``super().action(...)`` where it does not mind.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.settings = active_settings(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def action(self, request: Request, response: Response, decision: Decision) -> Action:
        """Return ``"drop"``, ``"flag"`` or ``"pass"``.

        It is asked about every page with a verdict other than ``skipped``.  If it raises, or
        returns anything else, the page passes, and ``simhash/policy_errors`` counts it.
        """
        settings = self.settings
        if settings.protect_start_requests and is_start_request(request):
            return "pass"
        if decision.reason == "wall":
            return "pass"
        wish = request.meta.get(META_KEY)
        action = _ACTION_TAKEN[wish if wish in ACTIONS else settings.action]
        if action == "drop" and is_inline(request) and wish != "drop":
            action = "flag"  # somebody waits for the page
        if settings.skip_unchanged and decision.is_unchanged and action == "drop":
            return "drop"
        return action if decision.is_duplicate else "pass"


class CarefulPolicy:
    """A policy whose mistakes cost no page."""

    def __init__(self, crawler: Crawler, policy: Policy) -> None:
        self._crawler = crawler
        self._policy = policy
        self._warning = RareWarning(logger)

    def action(self, request: Request, response: Response, decision: Decision) -> Action:
        """Return what the policy says, or ``"pass"`` if it fails."""
        try:
            action = self._policy.action(request, response, decision)
            if action not in get_args(Action):
                raise ValueError(f"{action!r} is no action")
        except Exception as exc:
            logger.debug("Error in SIMHASH_POLICY", exc_info=True)
            self._warning.log(
                f"Page passed, since SIMHASH_POLICY failed: {response.url}: {exc!r}",
                extra={"spider": self._crawler.spider},
            )
            self._crawler.stats.inc_value("simhash/policy_errors")
            return "pass"
        return action


def policy_of(settings: SimhashSettings, crawler: Crawler) -> CarefulPolicy:
    """Return the policy of a crawl.

    :raises SettingsError: ``SIMHASH_POLICY`` names none.
    """
    if settings.policy is None:
        return CarefulPolicy(crawler, Policy(crawler))
    try:
        policy = build_from_crawler(load_object(settings.policy), crawler)
        if not callable(getattr(policy, "action", None)):
            raise TypeError("it has no method 'action'")
    except NotConfigured:
        raise
    except Exception as exc:
        raise SettingsError(
            f"SIMHASH_POLICY must be a class with a method 'action', as scrapy_simhash.Policy has, "
            f"or the import path of one: got {settings.policy!r} ({exc})"
        ) from exc
    return CarefulPolicy(crawler, cast("Policy", policy))
