"""The index in Redis, which any number of machines share.  Needs the extra ``redis``."""

from scrapy_simhash.index.redis.index import RedisIndex

__all__ = ["RedisIndex"]
