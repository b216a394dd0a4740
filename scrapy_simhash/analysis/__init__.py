"""From the bytes of a page to its fingerprints.

A body comes in through ``Analyser.analyse`` (page.py), in a worker process.  extraction.py decodes
and parses it, and finds the main text by trafilatura, resiliparse (resiliparse_text.py), both of
them (auto_text.py) or a callable of the user's.  content.py cuts the same tree into blocks, the
second view of the page; values.py makes values of all that is on it, for a spider that takes items.
headers.py reads the links in its headers, which no worker gets.

fingerprint.py makes the fingerprint of the main text: features.py cuts the text into weighted
features, which are hashed, and whose votes are added up.  compiled.pyx does both in one pass, if it
is built.  Out comes a ``PageAnalysis``, or an ``AnalysisError`` that says why there
is none.
"""
