"""Work on whole files of fingerprints: snapshots, and many queries at once."""
