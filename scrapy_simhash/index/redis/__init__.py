"""The index in Redis, which any number of machines share.  It needs the extra ``redis``.

``RedisIndex`` (index.py) is made for a URL, which address.py reads.  server.py connects to the
server, sends calls together and repeats those that get no answer.  What the index holds, its
parameters, scopes, rows, runs and knowledge of sites, is under the keys of address.py.

A page comes in through ``add``.  rows.py packs it, and buckets.py names the buckets in
which it is looked up and stored.  lua/add_page.lua looks it up on the server, and writes it if
there is nothing to compare it with.  Otherwise the rule judges it here, and a second call writes
it, if the rows that it was judged by have not changed.  Out comes the decision, when the page is on
the server.  The other scripts in lua/ forget pages and list them.
"""
