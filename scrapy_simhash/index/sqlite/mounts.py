"""Is a file on a disk of this machine?  On a network file system, an index would be damaged."""

from __future__ import annotations

from pathlib import Path

import psutil

from scrapy_simhash.errors import IndexUnavailableError

# What other machines can write to as well. With a write-ahead log, all who use a file must share
# memory (sqlite.org/wal.html, "Overview"); and locks of these systems are known to fail
# (sqlite.org/howtocorrupt.html, section 2.1).
NETWORK_TYPES = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs2", "glusterfs", "gpfs"),
        *("lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "smb2", "smb3", "smbfs", "webdav"),
        *("fuse.ceph-fuse", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys"),
        *("fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    }
)


def refuse_network(path: Path) -> None:
    """Refuse a place for an index that is on a network file system.

    :raises IndexUnavailableError: it is.
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
    """Return where the file system is mounted that *path* is on, or would be, and its type."""
    whole = path.resolve()
    places = {whole, *whole.parents}
    # Of several mounts at one place, the last counts.
    mounts = {
        Path(mount.mountpoint): (mount.mountpoint, mount.fstype)
        for mount in psutil.disk_partitions(all=True)
    }
    deepest = max(places & mounts.keys(), key=lambda place: len(place.parts), default=None)
    return None if deepest is None else mounts[deepest]
