"""What Scrapy sees of this package: one component a file, and what they share."""
