"""Processes that analyse pages, each within its time limit."""
