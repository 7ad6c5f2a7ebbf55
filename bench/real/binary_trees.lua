-- Binary trees: many small tables that live briefly beside one that stays.
-- lua5.4 binary_trees.lua DEPTH ROUNDS
local depth, rounds = tonumber(arg[1]), tonumber(arg[2])

local function grow(d)
    if d == 0 then return {} end
    return { grow(d - 1), grow(d - 1) }
end

local function count(node)
    if not node[1] then return 1 end
    return 1 + count(node[1]) + count(node[2])
end

local long_lived = grow(depth)
local total = 0
for round = 1, rounds do
    local d = 4 + round % (depth - 4)
    for _ = 1, 1 << (depth - d) do total = total + count(grow(d)) end
end
print(total, count(long_lived))
