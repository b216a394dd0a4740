"""What is a duplicate: values, and pure functions over them.

A :class:`~.page.Page` holds the fields of a page; :class:`~.page.Found` holds the stored pages to
compare it with.  :func:`~.rule.judge` compares the two by sketches of their content (sketch.py),
without the blocks that the site repeats (template.py), and returns a :class:`~.page.Decision`.
scope.py says which part of an index a URL belongs to.  Nothing here reads or writes anything.
"""
