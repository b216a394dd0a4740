-- What is near a page by permuted tables: the representatives within the distance.
--
-- ARGV 7: for each table, the numbers of bytes of the rest of a key and of the other bits, the
-- number of buckets to read, and that of rests to look for, one byte each; then those rests, and the
-- other bits (see buckets.py).

-- At most this many entries are compared, in 4 ms.  Crafted pages could have any number with one key.
local MOST_COMPARED = 50000

-- Calls act with the position and the layout of each table.
local function for_each_table(act)
  local at, field = 1, 3
  while at <= #ARGV[7] do
    local rest, other, fields, rests = string.byte(ARGV[7], at, at + 3)
    local first_rest = at + 4
    local first_other = first_rest + rest * rests
    act(rest, other, field, fields, rests, first_rest, first_other)
    at, field = first_other + other, field + fields
  end
end

local DISTANCES = %DISTANCES%

-- The distances of a byte to all 256 bytes, made on first use.
local from = {}
local function distances_from(byte)
  local row = from[byte]
  if not row then
    row = { string.byte(DISTANCES, byte * 256 + 1, byte * 256 + 256) }
    from[byte] = row
  end
  return row
end

local compared, left_out = 0, 0

-- Compares all entries of a bucket, and adds those within the distance to near.  Where a bucket's
-- number is the whole key, the other bits take 6 or 7 bytes.
local function try_all(near, entries, other, first_other, begin)
  local byte, width = string.byte, other + 4
  local q1, q2, q3, q4, q5, q6, q7 = byte(ARGV[7], first_other, first_other + 6)
  local d1, d2, d3 = distances_from(q1), distances_from(q2), distances_from(q3)
  local d4, d5, d6 = distances_from(q4), distances_from(q5), distances_from(q6)
  local last = math.min(#entries, (MOST_COMPARED - compared) * width)
  compared = compared + #entries / width
  if last < #entries then left_out = 1 end
  for at = 1, last, width do
    local b1, b2, b3, b4, b5, b6, b7 = byte(entries, at, at + 6)
    local sum = begin + d1[b1 + 1] + d2[b2 + 1]
    if sum <= distance then
      sum = sum + d3[b3 + 1] + d4[b4 + 1]
      if sum <= distance then
        sum = sum + d5[b5 + 1] + d6[b6 + 1]
        if other == 7 then sum = sum + byte(DISTANCES, q7 * 256 + b7 + 1) end
        if sum <= distance then near[id_at(entries, at + other)] = sum end
      end
    end
  end
end

-- The same for the entries that begin with a pattern; there are few or none.
local function try_those(near, entries, rest, other, pattern, first_other, begin)
  if not string.find(entries, pattern, 1, true) then return end
  for at in each(entries, rest + other + 4, pattern) do
    if compared >= MOST_COMPARED then
      left_out = 1
      return
    end
    compared = compared + 1
    local sum = begin
    for i = 0, other - 1 do
      local mine, its = string.byte(ARGV[7], first_other + i), string.byte(entries, at + rest + i)
      sum = sum + string.byte(DISTANCES, mine * 256 + its + 1)
      if sum > distance then break end
    end
    if sum <= distance then near[id_at(entries, at + rest + other)] = sum end
  end
end

-- Returns the ids, the closest first, then the oldest, and 1 if there may be others.
local function near_by()
  local near = {}
  for_each_table(function(rest, other, field, fields, rests, first_rest, first_other)
    known[names[field]] = read[field] or ''
    if #known[names[field]] >= MOST_BYTES then left_out = 1 end
    if rest == 0 then
      for i = 0, fields - 1 do
        local entries = read[field + i]
        if entries then try_all(near, entries, other, first_other, i > 0 and 1 or 0) end
      end
      return
    end
    local patterns = { struct.unpack(string.rep('c' .. rest, rests), ARGV[7], first_rest) }
    local exact, entries = patterns[1], read[field]
    if entries then
      try_those(near, entries, rest, other, exact, first_other, 0)
      for i = 2, rests do try_those(near, entries, rest, other, patterns[i], first_other, 1) end
    end
    -- If a bit of the bucket's number differs, no bit of the rest may differ.
    for i = 1, fields - 1 do
      entries = read[field + i]
      if entries then try_those(near, entries, rest, other, exact, first_other, 1) end
    end
  end)
  local sorted = {}
  for id, sum in pairs(near) do sorted[#sorted + 1] = sum * 4294967296 + id end
  table.sort(sorted)
  return ids_of(sorted), left_out
end

local function put_near(id)
  for_each_table(function(rest, other, field, _, _, first_rest, first_other)
    if #bucket(names[field]) >= MOST_BYTES then return end
    put(names[field], string.sub(ARGV[7], first_rest, first_rest + rest - 1)
      .. string.sub(ARGV[7], first_other, first_other + other - 1) .. id)
  end)
end
