"""What this package raises; every class derives from :class:`SimhashError`.

A message gives name, rule and value, and what to do next.
"""


class SimhashError(Exception):
    """Base of all errors of this package."""


class SettingsError(SimhashError, ValueError):
    """A setting has a value that its rule refuses."""


class FingerprintIndexError(SimhashError):
    """An index cannot be used."""


class IndexFormatError(FingerprintIndexError):
    """The file is no index, is damaged, or is of a format that this version does not read."""


class IndexMismatchError(FingerprintIndexError):
    """The index was built with other parameters than this crawl asks for."""


class IndexUnavailableError(FingerprintIndexError):
    """The index did not answer: busy, disk full, lost.  The page was not recorded."""


class FeedError(SimhashError):
    """A decisions feed cannot be read, or what was made of it cannot be written."""
