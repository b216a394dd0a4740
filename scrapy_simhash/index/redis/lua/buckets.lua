-- Packed buckets: fields of the hash KEYS[2], each a string of entries of one width, the oldest
-- first.  An entry ends with the id of its page (4 bytes, big-endian).  KEYS[1] is the hash of the
-- pages by id, KEYS[3] the sorted set of groups: the id of each representative, with that of a page
-- that points to it.  This file is put before each script that changes pages.
--
-- Before this file, rows.py puts the positions of each part of a page: CHANGE, CHANGE_END and so
-- on, and HEAD_LENGTH.

local NONE = '\0\0\0\0'

local known, changed = {}, {}

local function change_of(page)
  return string.sub(page, CHANGE, CHANGE_END)
end

local function representative_of(page)
  return string.sub(page, REPRESENTATIVE, REPRESENTATIVE_END)
end

local function bucket(field)
  local entries = known[field]
  if entries == nil then
    entries = redis.call('HGET', KEYS[2], field) or ''
    known[field] = entries
  end
  return entries
end

-- Yields the positions of the entries of a bucket that begin with a pattern.
local function each(entries, width, pattern)
  local at = 1
  return function()
    while true do
      local found = string.find(entries, pattern, at, true)
      if not found then return nil end
      at = found + 1
      if (found - 1) % width == 0 then return found end
    end
  end
end

local function id_at(entries, from)
  return (struct.unpack('>I4', entries, from))
end

local function put(field, entry)
  local entries, width = bucket(field), #entry
  local after, id = #entries, id_at(entry, width - 3)
  while after > 0 and id_at(entries, after - 3) > id do after = after - width end
  known[field] = string.sub(entries, 1, after) .. entry .. string.sub(entries, after + 1)
  changed[field] = true
end

local function cut(field, entry)
  local entries = bucket(field)
  local at = each(entries, #entry, entry)()
  if at then
    known[field] = string.sub(entries, 1, at - 1) .. string.sub(entries, at + #entry)
    changed[field] = true
  end
end

-- Calls put or cut for each field and entry of a list: their lengths, one byte each, then both.
local function for_each(list, act)
  local at = 1
  while at <= #list do
    local field_length, entry_length = string.byte(list, at, at + 1)
    local field_end = at + 1 + field_length
    act(string.sub(list, at + 2, field_end), string.sub(list, field_end + 1, field_end + entry_length))
    at = field_end + entry_length + 1
  end
end

local function store_buckets()
  local stored, emptied = {}, {}
  for field in pairs(changed) do
    if known[field] == '' then
      emptied[#emptied + 1] = field
    else
      stored[#stored + 1] = field
      stored[#stored + 1] = known[field]
    end
  end
  if #stored > 0 then redis.call('HSET', KEYS[2], unpack(stored)) end
  if #emptied > 0 then redis.call('HDEL', KEYS[2], unpack(emptied)) end
end

-- Ids and changes are numbers of one sequence; no number is used again.
local function next_change()
  return struct.pack('>I4', redis.call('HINCRBY', KEYS[2], 'n', 1))
end

local function enter_group(representative, id)
  redis.call('ZADD', KEYS[3], 0, representative .. id)
end

local function leave_group(representative, id)
  redis.call('ZREM', KEYS[3], representative .. id)
end
