-- Notes that a run is going on.  ARGV: 2 its number; 3 what it says, as JSON.

say(ARGV[2], cjson.decode(ARGV[3]))
