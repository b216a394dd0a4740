"""The check that a file is on a disk of this machine: a network file system damages an index."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

from scrapy_simhash.errors import IndexUnavailableError

# File systems that other machines can write to as well.  With a write-ahead log, all processes
# that use a file must share memory (sqlite.org/wal.html, "Overview").  Also, locks of these systems
# are known to fail (sqlite.org/howtocorrupt.html, section 2.1).
NETWORK_TYPES = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs2", "glusterfs", "gpfs"),
        *("lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "smb2", "smb3", "smbfs", "webdav"),
        *("fuse.ceph-fuse", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys"),
        *("fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    }
)


def refuse_network(path: Path) -> None:
    """Refuse a path that is on a network file system.

    :raises IndexUnavailableError: it is on one.
    """
    found = mount_of(path)
    if found is not None and found[1].lower() in NETWORK_TYPES:
        raise IndexUnavailableError(
            f"{path} is on a network file system ({found[1]}, mounted at {found[0]}): an index "
            f"must be on a disk of this machine, or it would be damaged. Point SIMHASH_INDEX at "
            f"such a file, or at a Redis server that several machines share; an index that is "
            f"there already can be copied when no crawl runs."
        )


def mount_of(path: Path) -> tuple[str, str] | None:
    """Return the mount point and the type of the file system that *path* is on, or would be."""
    whole = path.resolve()
    places = {whole, *whole.parents}
    # If several file systems are mounted at one place, the last one counts.
    mounts = {
        Path(mount.mountpoint): (mount.mountpoint, mount.fstype)
        for mount in psutil.disk_partitions(all=True)
    }
    deepest = max(places & mounts.keys(), key=lambda place: len(place.parts), default=None)
    return None if deepest is None else mounts[deepest]


def file_id(path: str) -> tuple[int, int] | None:
    """Return the device and inode of the file at a path, None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - Path.stat takes twice as long
    except OSError:
        return None
    return found.st_dev, found.st_ino
