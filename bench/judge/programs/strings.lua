-- Word counts of a text, with string patterns and tables.
local counts = {}
for _, name in ipairs(arg) do
for line in io.lines(name) do
	for word in line:gmatch("%a+") do counts[word] = (counts[word] or 0) + 1 end
end
end
local names = {}
for name in pairs(counts) do names[#names + 1] = name end
table.sort(names, function(a, b) return counts[a] > counts[b] or (counts[a] == counts[b] and a < b) end)
for i = 1, 20 do print(names[i], counts[names[i]]) end
