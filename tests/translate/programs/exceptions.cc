// Exceptions through many frames with destructors, thrown again, carried to another thread.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static unsigned long destroyed;

struct Counted {
	~Counted()
	{
		destroyed++;
	}
};

static int __attribute__((noinline)) descend(int depth, int value)
{
	Counted counted;

	if (!depth) {
		if (value % 3 == 0)
			throw value;
		if (value % 3 == 1)
			throw std::runtime_error("value " + std::to_string(value));
		std::vector<int>().at(static_cast<unsigned>(value));
	}
	return descend(depth - 1, value) + 1;
}

static unsigned long catch_all(int rounds)
{
	unsigned long sum = 0;

	for (int i = 0; i < rounds; i++) {
		try {
			try {
				descend(i % 50, i);
			} catch (const std::runtime_error &error) {
				sum += std::string(error.what()).size();
				throw;
			}
		} catch (int value) {
			sum += static_cast<unsigned long>(value);
		} catch (const std::exception &) {
			sum += 7;
		}
	}
	return sum;
}

int main()
{
	unsigned long sum = catch_all(1000), other = 0;
	std::exception_ptr carried;
	std::thread thread([&] {
		other = catch_all(300);
		try {
			descend(20, 4);
		} catch (...) {
			carried = std::current_exception();
		}
	});

	thread.join();
	try {
		std::rethrow_exception(carried);
	} catch (const std::exception &error) {
		std::printf("%s ", error.what());
	}
	std::printf("%lu %lu %lu\n", sum, other, destroyed);
	return 0;
}
