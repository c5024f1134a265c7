/* Names with namespaces, templates and parameters, and data with mangled names. */
#include <cstddef>

namespace mesh
{
struct place {
	int row, column;
};

struct base {
	long first;
	static long shared;
};

struct cell : base {
	double weights[4];
	place at;
};

long base::shared = 3;
cell cells[3];

template <typename Number> struct field {
	Number *values;

	__attribute__((always_inline)) Number operator[](std::size_t i)
	{
		return values[i] * values[i + 1]; /* line of operator */
	}
};

template <typename Number, int Width> __attribute__((noinline)) Number smooth(field<Number> from, std::size_t count)
{
	Number sum = 0;

	for (std::size_t i = 0; i + Width < count; i++)
		sum += from[i]; /* line of smooth */
	return sum;
}
} // namespace mesh

/* A lambda that is a function of its own, in one that is inlined everywhere */
inline __attribute__((always_inline)) double through(double *values, long count)
{
	auto inside = [&](long i) __attribute__((noipa)) {
		return mesh::field<double>{values}[i]; /* line of inside */
	};
	return inside(count) + inside(count - 1);
}

extern "C" __attribute__((noinline)) double plain_(double value)
{
	return value + mesh::cells[1].weights[2];
}

int main(int count, char **)
{
	double values[16] = {double(count)};

	mesh::cells[count & 1].at.row = count;
	return mesh::smooth<double, 4>({values}, 16) + plain_(mesh::base::shared) + through(values, 3) > 1e9;
}
