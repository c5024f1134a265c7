"""Bodies that attract one another, in plain Python."""
import sys
bodies = [[float(i * 7 % 5), float(i * 3 % 7), float(i), 0.1 * i, 0.2, 0.05 * (i % 3), 1.0 + i] for i in range(5)]
pairs = [(a, b) for i, a in enumerate(bodies) for b in bodies[:i]]
for _ in range(int(sys.argv[1])):
    for a, b in pairs:
        x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
        pull = 0.001 / ((x * x + y * y + z * z) ** 1.5 + 0.01)
        a[3] -= x * b[6] * pull; a[4] -= y * b[6] * pull; a[5] -= z * b[6] * pull
        b[3] += x * a[6] * pull; b[4] += y * a[6] * pull; b[5] += z * a[6] * pull
    for body in bodies:
        body[0] += 0.001 * body[3]; body[1] += 0.001 * body[4]; body[2] += 0.001 * body[5]
print(bodies[0])
