"""From the bytes of a page to its fingerprint: extraction, features, simhash."""
