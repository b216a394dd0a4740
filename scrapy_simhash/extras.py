"""Packages that are installed with an extra."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from scrapy_simhash.errors import SettingsError


def extra_version(package: str, needed_by: str, extra: str = "") -> str:
    """Return the installed version of a package, without loading it.

    *extra* is the extra that installs it, if its name differs from the package's.

    :raises SettingsError: it is not installed.
    """
    try:
        return version(package)
    except PackageNotFoundError as exc:
        raise SettingsError(
            f"{needed_by} needs the package {package}: "
            f"pip install scrapy-simhash[{extra or package}]"
        ) from exc
