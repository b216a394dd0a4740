-- Looks up the rows that a page is judged by, and writes the page if it was judged by these rows.
--
-- Before this file, look_up.lua reads the buckets, and near_tables.lua or near_keys.lua says what is
-- near a page: near_by() returns the ids and whether some were left out, put_near(id) lets a page be
-- found.
--
-- ARGV: 1 'check': write nothing; 'adopt': write a page judged elsewhere, if it is not here; 'keep':
-- write a representative, whatever it is like, if its request is not one already.
-- 2 The maximal number of candidates.  3 The distance.  4 The buckets to read, 4 bytes each: of the
-- request; of the text, then those by which a page is near, if it looks for others.  5 The check of
-- the request (2 bytes) and the request's fingerprint.  6 The check of the text and its digest; empty:
-- do not look for the text.  7 What is near: see near_*.lua.  8 The page; its change is not
-- used.  9 The rows that it was judged by; empty: not judged yet.  10 The entries to cut from
-- buckets.  11 The id of the representative whose place the page takes; empty: none but its own.
-- 12 The entry of that one's request, without its id.  It becomes a duplicate of the page.
--
-- Without a candidate there is nothing to judge: the page is written at once, as a representative.
--
-- Returns the id of the written page and that of its representative.  If the page must be judged
-- first, returns: false; the ids and changes of the rows to judge it by; the id of its own row;
-- that row; the ids of the same text, 4 bytes each; the near ids; 1 if near ones were left out, else
-- 0; the ids of the rows of both kinds; then those rows.

local check, adopt, keep = ARGV[1] == 'check', ARGV[1] == 'adopt', ARGV[1] == 'keep'

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

local own, own_page = own_row()
if own and (adopt or (keep and representative_of(own_page) == NONE)
    or string.sub(own_page, CALL, CALL_END) == string.sub(ARGV[8], CALL, CALL_END)) then
  return { own, representative_of(own_page) } -- written by an earlier try; its answer was lost
end
local is_kept = own and representative_of(own_page) == NONE
local same, near, left_out = {}, {}, 0
if not adopt and not keep then
  same = ids_of_same_text()
  near, left_out = near_by()
end

local judged_by, ids, pages = {}, {}, {}
local function judge_by(id, row)
  judged_by[#judged_by + 1] = id .. change_of(row)
end
if own then judge_by(own, own_page) end
-- Both kinds alternate, so that neither takes all the places.
local seen, lists = {}, { same, near }
for place = 1, math.max(#same, #near) do
  for _, list in ipairs(lists) do
    local id = list[place]
    if id and not seen[id] and #ids < most then
      seen[id] = true
      ids[#ids + 1] = id
      pages[#ids] = page(id)
      judge_by(id, pages[#ids])
    end
    if id and not seen[id] then list[place] = '' end
  end
end
judged_by = table.concat(judged_by)

local nothing_to_judge = #ids == 0 and not is_kept
if check or (not keep and judged_by ~= ARGV[9] and not nothing_to_judge) then
  return {
    false, judged_by, own or '', own_page or '', table.concat(same), table.concat(near),
    left_out, table.concat(ids), unpack(pages)
  }
end

local change = next_change()
local moves = ARGV[11] ~= '' and not nothing_to_judge
if moves and own then
  leave_group(representative_of(own_page), own)
  redis.call('HDEL', KEYS[1], own)
  cut(names[1], string.sub(ARGV[5], 1, CHECK) .. own)
end
if moves then own, is_kept = ARGV[11], true end
local left = moves and page(own)
local id, representative = own or change, representative_of(ARGV[8])
if nothing_to_judge and not adopt then representative = NONE end
redis.call('HSET', KEYS[1], id, change .. representative .. string.sub(ARGV[8], REPRESENTATIVE_END + 1))
if is_kept then
  for_each(ARGV[10], cut)
elseif own then
  leave_group(representative_of(own_page), own)
end
if left then
  local copy = next_change()
  redis.call('HSET', KEYS[1], copy, copy .. id .. string.sub(left, REPRESENTATIVE_END + 1))
  for_each(ARGV[12], function(field, check)
    cut(field, check .. id)
    put(field, check .. copy)
  end)
  enter_group(id, copy)
end
if moves or not own then put(names[1], string.sub(ARGV[5], 1, CHECK) .. id) end
if representative ~= NONE then
  enter_group(representative, id)
else
  local text = string.sub(ARGV[6], 1, CHECK)
  if text ~= '' and has_room(names[2], text) then put(names[2], text .. id) end
  put_near(id)
end
store_buckets()
return { id, representative }
