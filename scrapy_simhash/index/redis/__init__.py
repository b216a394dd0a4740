"""The index in Redis, which any number of machines share.  Its server needs the extra ``redis``."""
