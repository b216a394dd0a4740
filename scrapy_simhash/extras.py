"""Packages that come with an extra."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from scrapy_simhash.errors import SettingsError


def extra_version(package: str, needed_by: str, extra: str = "") -> str:
    """Return the installed version of a package, without loading it.

    *extra* is what it comes with, if that has another name than the package.

    :raises SettingsError: it is not installed.
    """
    try:
        return version(package)
    except PackageNotFoundError as exc:
        raise SettingsError(
            f"{needed_by} needs the package {package}: "
            f"pip install scrapy-simhash[{extra or package}]"
        ) from exc
