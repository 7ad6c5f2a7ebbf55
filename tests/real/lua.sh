#!/bin/bash
# lua: binary trees, string building, table churn and coroutines; the same output.
. "$(dirname "$0")/../risk/lib.sh"
lua=
for name in lua5.4 lua5.3 lua; do have $name && lua=$name && break; done
[ -n "$lua" ] || skip "no lua interpreter"

cat >"$TMP/script.lua" <<'END'
local function tree(d) if d == 0 then return {} end return {tree(d - 1), tree(d - 1)} end
local function count(t) if not t[1] then return 1 end return 1 + count(t[1]) + count(t[2]) end
for d = 4, 14, 2 do
    local n = 0
    for i = 1, 2 ^ (15 - d) do n = n + count(tree(d)) end
    print(d, n)
end
local parts, h = {}, {}
for i = 1, 100000 do parts[#parts + 1] = tostring(i * 7919 % 10007); h["k" .. i % 5000] = parts[#parts] .. i end
local s = table.concat(parts, ",")
print(#s, select(2, s:gsub("99", "<%0>")))
local n = 0 for k, v in pairs(h) do n = n + #k + #v end print(n)
local co = {}
for i = 1, 2000 do co[i] = coroutine.create(function(a) local b = coroutine.yield(a .. i) return b .. a end) end
for i = 1, 2000 do local _, x = coroutine.resume(co[i], "a") n = n + #x end
for i = 1, 2000 do local _, x = coroutine.resume(co[i], "b") n = n + #x end
print(n)
collectgarbage() print(collectgarbage("count") < 200000)
END
$lua "$TMP/script.lua" >"$TMP/plain" || fail "the script does not run without the library"
must $lua "$TMP/script.lua" >"$TMP/seen"
same "$TMP/plain" "$TMP/seen" "$lua"
