"""A small site with everything that makes a crawl meet one page twice."""
