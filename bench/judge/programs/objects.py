"""Reads JSON, groups it, and writes it again."""
import collections, json, sys
for _ in range(int(sys.argv[2])):
    rows = json.load(open(sys.argv[1]))
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["name"]].append(row)
    text = json.dumps({name: sorted(group, key=lambda row: row["value"]) for name, group in groups.items()})
print(len(text))
