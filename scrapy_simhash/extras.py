"""Packages that come with an extra."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from scrapy_simhash.errors import SettingsError


def extra_version(package: str, needed_by: str) -> str:
    """Return the installed version of a package whose extra has its name, without loading it.

    :raises SettingsError: it is not installed.
    """
    try:
        return version(package)
    except PackageNotFoundError as exc:
        raise SettingsError(
            f"{needed_by} needs the package {package}: pip install scrapy-simhash[{package}]"
        ) from exc
