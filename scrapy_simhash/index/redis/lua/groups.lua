-- Groups: the ids of the pages that point to a representative, oldest first, in parts of at most
-- MOST_OF_A_PART bytes, so that a duplicate does not rewrite all of its group.
--
-- A part is a field of KEYS[2].  The name of the first is 'g' and the representative; the names of
-- the others go on with an id, and they have the ids from that one on.  These ids are in the field
-- 'G' and the representative, which grows by 4 bytes for about 256 duplicates.  buckets.lua comes
-- before this file.

local MOST_OF_A_PART = 2048

local function group_of(representative)
  return 'g' .. representative
end

local function further_of(representative)
  return 'G' .. representative
end

local function set(field, entries)
  known[field] = entries
  changed[field] = true
end

-- Returns the id that the part of another id begins with; '' if that is the first part.
local function begin_of_part(representative, id)
  local further, number = bucket(further_of(representative)), id_at(id, 1)
  local low, high = 0, #further / 4
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if id_at(further, 4 * middle - 3) > number then high = middle - 1 else low = middle end
  end
  return string.sub(further, 4 * low - 3, 4 * low)
end

local function enter_group(representative, id)
  local field = group_of(representative) .. begin_of_part(representative, id)
  put(field, id)
  local ids, half = bucket(field), MOST_OF_A_PART / 2
  if #ids > MOST_OF_A_PART then
    local begin = string.sub(ids, half + 1, half + 4)
    set(field, string.sub(ids, 1, half))
    set(group_of(representative) .. begin, string.sub(ids, half + 1))
    put(further_of(representative), begin)
  end
end

local function leave_group(representative, id)
  local first, begin = group_of(representative), begin_of_part(representative, id)
  cut(first .. begin, id)
  if bucket(first .. begin) ~= '' then return end
  if begin == '' then -- the second part becomes the first
    begin = string.sub(bucket(further_of(representative)), 1, 4)
    if begin == '' then return end
    set(first, bucket(first .. begin))
    set(first .. begin, '')
  end
  cut(further_of(representative), begin)
end
