"""What is a duplicate: values, and pure functions over them.

A :class:`~.page.Page` holds the fields of a page; :class:`~.page.Found` holds the stored pages to
compare it with.  :func:`~.judge.judge` compares the two by sketches of their content (sketch.py,
comparison.py), without the blocks that the site repeats (template.py), and by their values
(holdings.py), whose addresses may be others on the kept page (rewriting.py), and returns a
:class:`~.page.Decision`.  noise.py says what changes by itself.  What takes long in a comparison is
compiled, if there is a C compiler.  Nothing here reads or writes anything.
"""
