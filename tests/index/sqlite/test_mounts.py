"""An index is made on a disk of this machine, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.sqlite.schema import NETWORK_TYPES, mount_of
from tests.indexes import open_index
from tests.pages import PARAMETERS


class Mount(NamedTuple):
    mountpoint: str
    fstype: str


@pytest.fixture
def mounts(monkeypatch: pytest.MonkeyPatch) -> list[Mount]:
    """What is mounted, besides a disk at /."""
    table = [Mount("/", "ext4")]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: table)
    return table


@pytest.mark.parametrize("fstype", ["nfs", "nfs4", "cifs", "SMB3", "9p", "fuse.sshfs", "ceph"])
def test_network_file_system_is_refused_and_left_alone(
    tmp_path: Path, mounts: list[Mount], fstype: str
) -> None:
    mounts.append(Mount(str(tmp_path), fstype))
    with pytest.raises(IndexUnavailableError, match=r"network file system.*SIMHASH_INDEX") as error:
        open_index(tmp_path / "folder" / "pages.simhash", PARAMETERS)
    assert fstype in str(error.value)
    assert str(tmp_path) in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fstype", ["ext4", "xfs", "tmpfs", "overlay", "fuseblk", "virtiofs"])
def test_disk_of_this_machine_is_taken(tmp_path: Path, mounts: list[Mount], fstype: str) -> None:
    mounts.append(Mount(str(tmp_path), fstype))
    open_index(tmp_path / "pages.simhash", PARAMETERS).close()


def test_link_is_followed(tmp_path: Path, mounts: list[Mount]) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "here").symlink_to(tmp_path / "there")
    mounts.append(Mount(str(tmp_path / "there"), "nfs"))
    with pytest.raises(IndexUnavailableError, match="network"):
        open_index(tmp_path / "here" / "pages.simhash", PARAMETERS)


def test_deepest_and_last_mount_counts(mounts: list[Mount]) -> None:
    mounts += [Mount("/net", "nfs"), Mount("/net/disk", "nfs"), Mount("/net/disk", "xfs")]
    assert mount_of(Path("/net/pages.simhash")) == ("/net", "nfs")
    assert mount_of(Path("/net/disk/a/pages.simhash")) == ("/net/disk", "xfs")
    assert mount_of(Path("/network/pages.simhash")) == ("/", "ext4")


def test_mounts_of_this_machine_are_known(tmp_path: Path) -> None:
    found = mount_of(tmp_path)
    assert found is not None
    assert found[1] not in NETWORK_TYPES
