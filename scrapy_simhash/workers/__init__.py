"""Processes that analyse pages, each within its time limit.

A body comes in through ``Workers.analyse``.  recall.py answers for one that was met before, byte
for byte.  pool.py gives any other to the process with the fewest pages, over a socket; child.py is
that process: it reads questions, analyses one after the other, and writes replies.  Out comes a
``PageAnalysis``, or an ``AnalysisError`` that says why there is none; a process that hangs or dies
is replaced.
"""
