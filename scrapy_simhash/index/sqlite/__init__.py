"""The index in one SQLite file, which the processes of a machine share, or in memory.

``SQLiteIndex`` (index.py) opens the file: schema.py refuses a network file system, and creates the
file, or checks its header and its parameters.  At open, the permuted tables are filled from the
segments (segments.py), and from the rows that no segment has yet.

A page comes in through ``add``, in one transaction of the file with those that come at once.
index.py first adds the rows that other processes have written since, then looks the page up, by
rows.py and by its tables.  The rule judges the page, and rows.py writes it.  Out comes the
decision, when the transaction is committed.

At the same time a thread merges the write-ahead log and writes new segments.  repair.py mends a
file for the command ``repair``.
"""
