"""The index in one SQLite file, which the processes of a machine share."""
