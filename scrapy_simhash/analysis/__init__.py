"""From the bytes of a page to its fingerprints.

A body comes in through ``Analyser.analyse`` (analyser.py), in a worker process.  tree.py decodes
and parses it, and walks over its tree: it meets elements and texts (events.py), of which blocks of
text are made (blocks.py).  extraction.py finds the main text: a model chooses it from the blocks
(main_blocks.py, with its table in model.txt), or trafilatura, resiliparse or a callable of the
user's finds it.  content.py makes the second view of the page from the same blocks;
values.py makes values of all that is on it, for a spider that takes items, with the addresses
(page_addresses.py) and the literals of scripts (literals.py); own_values.py keeps them in rows, and
leaves out what the section repeats.

features.py cuts the main text into weighted features, and fingerprint.py hashes them and adds up
their votes.  compiled.pyx does both in one pass, and compiled_walk.pyx does the walk, if they are
built.  Out comes a ``PageAnalysis``, or an ``AnalysisError`` that says why there is none.
"""
