"""Chinese segmentation and keywords by jieba: the only module that imports it."""

from __future__ import annotations

import logging
import unicodedata
from functools import lru_cache
from typing import Any

from scrapy_simhash.extras import extra_version


@lru_cache(maxsize=1)
def jieba() -> Any:
    """Return jieba with its dictionary loaded (takes about a second, once in each process)."""
    import jieba
    import jieba.analyse

    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    return jieba


def jieba_version() -> str:
    """Return the installed version of jieba, without loading it.

    :raises SettingsError: it is not installed.
    """
    return extra_version("jieba", "a jieba scheme (SIMHASH_FEATURES)")


def segment(text: str) -> list[str]:
    """Return the segments of *text* that hold a letter or a digit."""
    return [token for token in jieba().lcut(text) if _is_word(token)]


def keywords(method: str, text: str, top: int) -> dict[str, float]:
    """Return the *top* keywords and their weights; *method* is ``tfidf`` or ``textrank``."""
    analyse = jieba().analyse
    extract = analyse.extract_tags if method == "tfidf" else analyse.textrank
    return dict(extract(text, topK=top, withWeight=True))


def _is_word(token: str) -> bool:
    return any(unicodedata.category(character)[0] in "LN" for character in token)
