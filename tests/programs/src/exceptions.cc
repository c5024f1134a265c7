// C++ exceptions: thrown through frames with destructors, rethrown, caught by type, in threads: exceptions COUNT
#include "counted.h"
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static thread_local long destroyed;

struct Guard {
	std::string name;
	~Guard() { destroyed++; }
};

static long deep(int depth, long i)
{
	Guard guard{"a name that is too long for the string itself"};

	if (depth > 0)
		return deep(depth - 1, i) + 1;
	if (i % 3 == 0)
		throw std::runtime_error("three");
	if (i % 5 == 0)
		throw i;
	return i;
}

static long many(long count)
{
	long sum = 0;

	for (long i = 0; i < count; i++)
		try {
			try {
				sum += deep(8, i);
			} catch (const std::exception &) {
				sum++;
				throw;
			}
		} catch (long number) {
			sum += number;
		} catch (const std::runtime_error &error) {
			sum += error.what()[0];
		}
	return sum + destroyed;
}

int main(int count, char **arguments)
{
	long length = count > 1 ? std::atol(arguments[1]) : 20000, sums[3] = {};
	std::vector<std::thread> threads;

	counted();
	for (long &sum : sums)
		threads.emplace_back([&sum, length] { sum = many(length); });
	for (std::thread &thread : threads)
		thread.join();
	std::cout << many(length) << ' ' << sums[0] << ' ' << sums[1] << ' ' << sums[2] << std::endl;
}
