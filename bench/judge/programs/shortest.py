"""Shortest paths in a random sparse graph, with dictionaries and a heap."""
import heapq, random, sys
draw = random.Random(5)
count = int(sys.argv[1])
edges = {i: [(draw.randrange(count), draw.random()) for _ in range(4)] for i in range(count)}
best, queue = {}, [(0.0, 0)]
while queue:
    length, node = heapq.heappop(queue)
    if node in best:
        continue
    best[node] = length
    for other, step in edges[node]:
        if other not in best:
            heapq.heappush(queue, (length + step, other))
print(len(best), max(best.values()))
