"""Mutants that are as right as the source: mutants.py counts them neither way.

Each has its module, its function, its difference (blanks do not matter), and the reason.
"""

EQUIVALENT: list[tuple[str, str, str, str]] = [
    (
        "scrapy_simhash/index/site_knowledge.py",
        "learn",
        """
-        is_one_more = decision.closest is not None and decision.closest.share >= (self._share or 2)
+        is_one_more = decision.closest is not None and decision.closest.share >= ((self._share))
        """,
        "Without verification, no decision names a closest page.",
    ),
    (
        "scrapy_simhash/index/redis/rows.py",
        "",
        """
-_ABSENT: dict[str, Any] = {"Q": 0, "16s": bytes(16), "I": 0}
+_ABSENT: dict[str, Any] = {"Q": 0, "16s": bytes((17)), "I": 0}
        """,
        "struct cuts what is longer than a field.",
    ),
    (
        "scrapy_simhash/index/redis/index.py",
        "_scope_of",
        """
-        if all(scope.base != base_of(row_id) for scope in scopes):
+        if (any((scope.base != base_of(row_id) for scope in scopes))):
        """,
        "All scopes are read once more, with the same result.",
    ),
    (
        "scrapy_simhash/index/redis/index.py",
        "templates",
        """
-            cursor, found = await self._server.command("HSCAN", key, cursor, "COUNT", 20)
+            cursor, found = await self._server.command("HSCAN", key, cursor, "COUNT", (21))
        """,
        "The number is a hint of how many to return at once.",
    ),
    (
        "scrapy_simhash/index/sqlite/index.py",
        "__init__",
        """
-        self._seen_version = -1
+        self._seen_version = -(2)
        """,
        "Any number that is no version does.",
    ),
    (
        "scrapy_simhash/index/sqlite/index.py",
        "_load",
        """
-            self._tables.add_many(self._all_written(connection))
+            pass
        """,
        "The first page reads the rows then, which takes longer and finds the same.",
    ),
    (
        "scrapy_simhash/index/sqlite/index.py",
        "_near",
        """
-                continue
+                pass
        """,
        "The rule itself looks at each row once.",
    ),
    (
        "scrapy_simhash/index/sqlite/schema.py",
        "_has_write_ahead_log",
        """
-    return log.exists() and log.stat().st_size > 0
+    return log.exists() and log.stat().st_size > (1)
        """,
        "A log that is not empty has a header of 32 bytes.",
    ),
    (
        "scrapy_simhash/index/sqlite/segments.py",
        "load",
        """
-        self._loaded = max(loaded.values(), default=0)
+        self._loaded = max(loaded.values(), default=(1))
        """,
        "Without segments, there is nothing stale to remove.",
    ),
    (
        "scrapy_simhash/index/sqlite/segments.py",
        "_are_stale",
        """
-            return False
+            return None
        """,
        "None is as false as False.",
    ),
    (
        "scrapy_simhash/decision/noise.py",
        "merge",
        """
-            if self._seen.get(key, (0, 0)) < seen:
+            if (self._seen.get(key, (0, 0)) <= seen):
        """,
        "What is equal takes the place of itself.",
    ),
    (
        "scrapy_simhash/decision/judge.py",
        "has_same_text",
        """
-    return _shares_enough(page, other, shared, parameters)
+    return (_shares_enough(other, page, shared, parameters))
        """,
        "What it takes from one of the two pages is the same in both, if it counts.",
    ),
    (
        "scrapy_simhash/decision/judge.py",
        "_closest",
        """
-    same_text = tee((row, 0) for row in islice(found.same_text, MAX_COMPARED))
+    same_text = tee((row, (1)) for row in islice(found.same_text, MAX_COMPARED))
        """,
        "The distances are only compared with one another.",
    ),
    (
        "scrapy_simhash/decision/template.py",
        "__init__",
        """
-        self._size = 0
+        self._size = (1)
        """,
        "One block of 500,000.",
    ),
    (
        "scrapy_simhash/decision/template.py",
        "note_lost",
        """
-        self._learned[site] += 1
+        self._learned[site] -= 1
        """,
        "What was not stored is due two pages later, or at the end all the same.",
    ),
    (
        "scrapy_simhash/workers/child.py",
        "_alarm",
        """
-        signal.setitimer(signal.ITIMER_REAL, 0)
+        (signal.setitimer(0, signal.ITIMER_REAL))
        """,
        "ITIMER_REAL is 0.",
    ),
    (
        "scrapy_simhash/tables/design.py",
        "split_design",
        """
-    tables = tuple(Table(mask, radius) for mask, radius in zip(masks, radii, strict=True))
+    tables = tuple(Table(mask, radius) for mask, radius in zip(masks, radii, strict=(False)))
        """,
        "Both have the same length; it is only checked.",
    ),
    (
        "scrapy_simhash/index/redis/lua/look_up.lua",
        "",
        """
-  if #entries >= MOST_BYTES then return false end
+  if #entries > MOST_BYTES then return false end
        """,
        "Entries have 6 bytes, of which the bound is no multiple.",
    ),
    (
        "scrapy_simhash/index/sqlite/index.py",
        "__init__",
        """
-        self._writes = 0
+        self._writes = (1)
        """,
        "One commit of a thousand.",
    ),
    (
        "scrapy_simhash/decision/template.py",
        "_note_frequent",
        """
-        if self.pages >= LASTING_PAGES:
+        if (self.pages > LASTING_PAGES):
        """,
        "The number of pages, of which old ones weigh less, is no whole one.",
    ),
]
