"""Is this page the same as a kept one?  Pure values and functions."""
