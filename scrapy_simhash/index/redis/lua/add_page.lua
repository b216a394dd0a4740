-- Looks up the rows that a page is judged by, and writes the page if it was judged by these rows.
--
-- ARGV: 1 'check': write nothing; 'adopt': write a page judged elsewhere, if it is not here; 'keep':
-- write a representative, whatever it is like, if its request is not one already.
-- 2 The maximal number of candidates of a kind.  3 The distance.  4 The buckets to read, 4 bytes
-- each: of the request, of the text, then those of the tables.  5 The check of the request (2
-- bytes) and the request's fingerprint.  6 The check of the text and its digest; empty: do not look
-- for the text.  7 The tables (see Buckets in buckets.py).  8 The page; its change is not used.
-- 9 The rows that it was judged by; empty: not judged yet.  10 The entries to cut from buckets.
-- 11 The id of the representative whose place the page takes; empty: none but its own.
--
-- Without a candidate there is nothing to judge: the page is written at once, as a representative.
--
-- Returns the id of the written page and that of its representative.  If the page must be judged
-- first, returns: false; the ids and changes of the rows to judge it by; the id of its own row;
-- that row; the ids of the same text (4 bytes each); the near ids, each with its distance (5 bytes
-- each); the ids of the rows of both kinds (4 bytes each); then those rows.

local check, adopt, keep = ARGV[1] == 'check', ARGV[1] == 'adopt', ARGV[1] == 'keep'
local most, distance = tonumber(ARGV[2]), tonumber(ARGV[3])
local names = { struct.unpack(string.rep('c4', #ARGV[4] / 4), ARGV[4]) }
names[#names] = nil -- the last value of unpack is a position
local read = redis.call('HMGET', KEYS[2], unpack(names))
known[names[1]], known[names[2]] = read[1] or '', read[2] or ''

-- An entry of a request or a text begins with a check of this many bytes of its hash, which few
-- others share.
local CHECK = 2

-- The page of an id, false if it is not there: a server that evicts keys may have lost it.
local pages_known = {}
local function page(id)
  if pages_known[id] == nil then pages_known[id] = redis.call('HGET', KEYS[1], id) end
  return pages_known[id]
end

local function request_of(row)
  local begin = HEAD_LENGTH + struct.unpack('>I2', row, URL_LENGTH)
  return string.sub(row, begin + 1, begin + struct.unpack('>I2', row, REQUEST_FINGERPRINT_LENGTH))
end

local function own_row()
  local entries, request = bucket(names[1]), string.sub(ARGV[5], CHECK + 1)
  for at in each(entries, CHECK + 4, string.sub(ARGV[5], 1, CHECK)) do
    local id = string.sub(entries, at + CHECK, at + CHECK + 3)
    local row = page(id)
    if row and request_of(row) == request then return id, row end
  end
end

local function ids_of_same_text()
  local ids, digest = {}, string.sub(ARGV[6], CHECK + 1)
  if digest == '' then return ids end
  local entries = bucket(names[2])
  for at in each(entries, CHECK + 4, string.sub(ARGV[6], 1, CHECK)) do
    if #ids == most then break end
    local id = string.sub(entries, at + CHECK, at + CHECK + 3)
    local row = page(id)
    if row and string.sub(row, DIGEST, DIGEST_END) == digest then ids[#ids + 1] = id end
  end
  return ids
end

-- Calls act with the position and the layout of each table.
local function for_each_table(act)
  local at, field = 1, 3
  while at <= #ARGV[7] do
    local view, rest, other, fields, rests = string.byte(ARGV[7], at, at + 4)
    local first_rest = at + 5
    local first_other = first_rest + rest * rests
    act(view, rest, other, field, fields, rests, first_rest, first_other)
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

-- Compares all entries of a bucket, and adds those within the distance to near.
local function try_all(near, entries, other, first_other, begin)
  local byte, width = string.byte, other + 4
  local q1, q2, q3, q4, q5, q6 = byte(ARGV[7], first_other, first_other + 5)
  local d1, d2, d3 = distances_from(q1), distances_from(q2), distances_from(q3)
  local d4, d5, d6 = distances_from(q4), distances_from(q5), distances_from(q6)
  for at = 1, #entries, width do
    local b1, b2, b3, b4, b5, b6 = byte(entries, at, at + 5)
    local sum = begin + d1[b1 + 1] + d2[b2 + 1]
    if sum <= distance then
      sum = sum + d3[b3 + 1] + d4[b4 + 1]
      if sum <= distance then
        sum = sum + d5[b5 + 1] + d6[b6 + 1]
        if sum <= distance then near[id_at(entries, at + other)] = sum end
      end
    end
  end
end

-- The same for the entries that begin with a pattern; there are few or none.
local function try_those(near, entries, rest, other, pattern, first_other, begin)
  if not string.find(entries, pattern, 1, true) then return end
  for at in each(entries, rest + other + 4, pattern) do
    local sum = begin
    for i = 0, other - 1 do
      local mine, its = string.byte(ARGV[7], first_other + i), string.byte(entries, at + rest + i)
      sum = sum + string.byte(DISTANCES, mine * 256 + its + 1)
      if sum > distance then break end
    end
    if sum <= distance then near[id_at(entries, at + rest + other)] = sum end
  end
end

-- Returns ids and distances: view after view, the closest first, then the oldest.
local function near_by()
  local views, order = {}, {}
  for_each_table(function(view, rest, other, field, fields, rests, first_rest, first_other)
    if not views[view] then
      views[view] = {}
      order[#order + 1] = view
    end
    local near = views[view]
    known[names[field]] = read[field] or ''
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
  local found, seen = {}, {}
  for _, view in ipairs(order) do
    local sorted = {}
    for id, sum in pairs(views[view]) do sorted[#sorted + 1] = sum * 4294967296 + id end
    table.sort(sorted)
    for _, both in ipairs(sorted) do
      local id = struct.pack('>I4', both % 4294967296)
      if #found == most then break end
      if not seen[id] and page(id) then
        seen[id] = true
        found[#found + 1] = id .. string.char(math.floor(both / 4294967296))
      end
    end
  end
  return found
end

local own, own_page = own_row()
if own and (adopt or (keep and representative_of(own_page) == NONE)
    or string.sub(own_page, CALL, CALL_END) == string.sub(ARGV[8], CALL, CALL_END)) then
  return { own, representative_of(own_page) } -- written by an earlier try; its answer was lost
end
local is_kept = own and representative_of(own_page) == NONE
local same, near = {}, {}
if not is_kept and not adopt and not keep then same, near = ids_of_same_text(), near_by() end

local judged_by, ids, pages = {}, {}, {}
local function judge_by(id, row)
  judged_by[#judged_by + 1] = id .. change_of(row)
end
if own then judge_by(own, own_page) end
local seen = {}
for _, list in ipairs({ same, near }) do
  for _, entry in ipairs(list) do
    local id = string.sub(entry, 1, 4)
    if not seen[id] then
      seen[id] = true
      ids[#ids + 1] = id
      pages[#ids] = page(id)
      judge_by(id, pages[#ids])
    end
  end
end
judged_by = table.concat(judged_by)

local nothing_to_judge = #ids == 0 and not is_kept
if check or (not keep and judged_by ~= ARGV[9] and not nothing_to_judge) then
  return {
    false, judged_by, own or '', own_page or '', table.concat(same), table.concat(near),
    table.concat(ids), unpack(pages)
  }
end

local change, duplicates = next_change(), 0
local function leave_group()
  cut(group_of(representative_of(own_page)), own)
  duplicates = -1
end
local moves = ARGV[11] ~= '' and not nothing_to_judge
if moves and own then
  leave_group()
  redis.call('HDEL', KEYS[1], own)
  cut(names[1], string.sub(ARGV[5], 1, CHECK) .. own)
end
if moves then own, is_kept = ARGV[11], true end
local id, representative = own or change, representative_of(ARGV[8])
if nothing_to_judge and not adopt then representative = NONE end
redis.call('HSET', KEYS[1], id, change .. representative .. string.sub(ARGV[8], REPRESENTATIVE_END + 1))
if is_kept then
  for_each(ARGV[10], cut)
elseif own then
  leave_group()
end
if moves or not own then put(names[1], string.sub(ARGV[5], 1, CHECK) .. id) end
if representative ~= NONE then
  put(group_of(representative), id)
  duplicates = duplicates + 1
else
  if ARGV[6] ~= '' then put(names[2], string.sub(ARGV[6], 1, CHECK) .. id) end
  for_each_table(function(_, rest, other, field, _, _, first_rest, first_other)
    put(names[field], string.sub(ARGV[7], first_rest, first_rest + rest - 1)
      .. string.sub(ARGV[7], first_other, first_other + other - 1) .. id)
  end)
end
count_duplicates(duplicates)
store_buckets()
return { id, representative }
