"""Work on whole files of fingerprints: snapshots, and the batch query over them."""
